#include "train/trainer.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>

#include <fmt/format.h>

#include "models/torch_threads.hpp"
#include "rcap/core/error.hpp"
#include "train/checkpoint.hpp"
#include "train/grouping.hpp"
#include "train/run_folder.hpp"
#include "train/scoring.hpp"
#include "train/session.hpp"
#include "train/stopwatch.hpp"
#include "train/training_data.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// The images of a pack are center-cropped already; the same crop again would leave less.
void require_uncropped(const Dataset& dataset, const TrainOptions& options) {
  if (!dataset.is_center_cropped || options.center_crop == 0) return;
  throw InvalidArgument(fmt::format(
      "center-crop is {}: the images of {} were cropped when they were packed; set it to 0",
      options.center_crop, options.data.string()));
}

/// The folder of a run; checked before it is created, in case there is nothing to resume.
const fs::path& require_fitting(const RunOptions& run) {
  if (run.resume) require_begun_run(run.out);
  return run.out;
}

/// One run in its folder.
class Run {
 public:
  Run(const TrainOptions& options, const RunOptions& run, TrainListener& listener)
      : options_(completed(options)),
        resume_(run.resume),
        listener_(listener),
        folder_(require_fitting(run)),
        checkpoints_(folder_.checkpoints(), options_) {
    require_fitting_folder();
    set_torch_threads(options_.threads);
    const Stopwatch watch(setup_seconds_);
    dataset_ = open_training_data(options_);
    require_uncropped(dataset_, options_);
    classes_ = std::make_shared<const ClassIndex>(
        groups_of(dataset_.train, options_.group_by),
        static_cast<ClassId>(group_names(dataset_, options_.group_by).size()));
  }

  /// Writes scores to the folder, and nothing else.
  bool score() {
    listener_.on_start(dataset_, options_);
    if (fs::exists(folder_.scores())) return true;  // made by the run that is resumed
    folder_.begin(options_);
    const auto scores = make_scores(options_, options_.make_scores, dataset_, classes_, listener_);
    if (scores) write_scores(folder_.scores(), *scores, options_, *classes_);
    return scores.has_value();
  }

  std::optional<Summary> execute() {
    listener_.on_start(dataset_, options_);
    const bool goes_on = folder_.has_run();
    if (!goes_on) folder_.begin(options_);
    if (!prepare_scores()) return std::nullopt;
    std::optional<Session> session;
    {
      const Stopwatch watch(setup_seconds_);
      session.emplace(options_, dataset_, dataset_.train,
                      make_pruner(options_.method, classes_, pruner_options_of(options_)),
                      "training", listener_);
    }
    for (const std::string& remark : session->engine().remarks()) listener_.on_remark(remark);
    const std::string remark =
        remark_on_budget(session->pruner(), options_.pruner.common.pruning_rate);
    if (!remark.empty()) listener_.on_remark(remark);
    const bool has_checkpoint = checkpoints_.any();
    if (has_checkpoint) session->state() = checkpoints_.load(session->engine(), session->pruner());
    RunState& state = session->state();
    if (goes_on) {
      folder_.go_on(state.epoch);
      listener_.on_resume(state.epoch, state.batch);
    }
    state.run_seconds.setup += setup_seconds_;
    if (!has_checkpoint) {
      state.run_seconds.scoring = scoring_cost_.seconds;
      if (session->pruner().needs_initial_losses()) session->initial_pass();
      save(*session);
    }
    bool goes_to_the_end = true;
    while (goes_to_the_end && !session->done()) goes_to_the_end = train_epoch(*session);
    save(*session);
    if (!goes_to_the_end) return std::nullopt;
    const Summary summary = summarise(*session);
    folder_.write_summary(summary);
    return summary;
  }

 private:
  void require_fitting_folder() const {
    const auto refuse = [&](const char* what) {
      throw InvalidArgument(fmt::format("{}: {}", folder_.path().string(), what));
    };
    if (folder_.has_run() && !folder_.has_options()) {
      refuse(
          "has parts of a run but no options.toml, so its options are unknown; choose another "
          "folder");
    }
    if (folder_.has_run() && !resume_) {
      refuse("has a run already; resume it, or choose another folder");
    }
    if (folder_.has_results() && !checkpoints_.any()) {
      refuse("its checkpoint is gone, so the run cannot be resumed; choose another folder");
    }
    if (folder_.has_run()) folder_.require_same_options(options_);
  }

  /// Makes or reads what a static method selects by.
  /// @return false if the listener stopped it
  bool prepare_scores() {
    if (require_method(options_.method).needs_scores == Scores::None) return true;
    const fs::path given = options_.scores.empty() ? folder_.scores() : options_.scores;
    SampleScores scores;
    if (!options_.scores.empty() || fs::exists(given)) {
      scores = read_scores(given, options_, *classes_);
    } else {
      auto made = make_scores(options_, std::array{options_.method}, dataset_, classes_, listener_);
      if (!made) return false;
      scores = std::move(*made);
      write_scores(given, scores, options_, *classes_);
    }
    const Scores kind = require_method(options_.method).needs_scores;
    options_.pruner.scores = std::move(scores.per_sample[kind]);
    options_.pruner.mean_probabilities = std::move(scores.mean_probabilities);
    options_.pruner.recalls = std::move(scores.recalls);
    scoring_cost_ = scores.costs[options_.method];
    return true;
  }

  /// @return false if the listener stopped the run
  bool train_epoch(Session& session) {
    std::optional<EpochRecord> trained = session.train_epoch([&](const Batch&) {
      if (!session.in_mid_epoch()) return true;
      if (checkpoint_is_due()) save(session);
      return !listener_.wants_to_stop();
    });
    if (!trained) return false;
    EpochRecord& record = *trained;
    RunState& state = session.state();
    const bool due = (record.epoch + 1) % options_.evaluate_every == 0;
    if (due || session.done()) {
      const Stopwatch watch(state.epoch_seconds.evaluate);
      record.evaluation = evaluate(session);
    }
    record.seconds = state.epoch_seconds;
    state.run_seconds += state.epoch_seconds;
    state.epoch_seconds = {};
    folder_.add(record);
    listener_.on_epoch(record, options_.epochs);
    if (checkpoint_is_due()) save(session);
    return session.done() || !listener_.wants_to_stop();
  }

  [[nodiscard]] Evaluation evaluate(Session& session) const {
    const Accuracy accuracy = session.evaluate(evaluated_split(dataset_, options_.evaluate));
    return {{accuracies_of(accuracy.plain)}, accuracies_of(accuracy.prior_adjusted)};
  }

  [[nodiscard]] Accuracies accuracies_of(const GroupAccuracy& accuracy) const {
    Accuracies accuracies{.accuracy = accuracy.overall(),
                          .worst_group_accuracy = accuracy.worst(),
                          .average_group_accuracy = accuracy.average(),
                          .adjusted_average_accuracy = {},
                          .group_accuracy = accuracy.by_group()};
    if (options_.group_by == GroupBy::Group) {
      accuracies.adjusted_average_accuracy = accuracy.weighted(classes_->class_sizes());
    }
    return accuracies;
  }

  [[nodiscard]] bool checkpoint_is_due() const {
    return std::chrono::duration<double>(Clock::now() - last_save_).count() >=
           options_.checkpoint_seconds;
  }

  void save(Session& session) {
    double seconds = 0;
    {
      const Stopwatch watch(seconds);
      folder_.require_in_place();
      folder_.sync_records();  // a checkpoint must not have more epochs than the records
      checkpoints_.save(session.state(), session.engine(), session.pruner());
    }
    session.state().run_seconds.checkpoint += seconds;
    last_save_ = Clock::now();
  }

  /// Empty if a checkpoint or a score file comes from a version that did not count samples.
  [[nodiscard]] std::optional<SampleCost> cost_of(const RunState& state) const {
    if (!state.forward_samples || !scoring_cost_.samples) return std::nullopt;
    SampleCost cost = *scoring_cost_.samples;
    cost += {.trained = state.samples_seen, .forward = *state.forward_samples};
    return cost;
  }

  [[nodiscard]] Evaluation last_evaluation() const {
    const auto records = folder_.records();
    if (!records.empty() && records.back().evaluation) return *records.back().evaluation;
    // A checkpoint of an older version does not show that options.toml was edited.
    throw StateMismatch(fmt::format(
        "{}: by its options the run has ended, but its last epoch was not evaluated; restore the "
        "epochs that it began with",
        folder_.path().string()));
  }

  [[nodiscard]] Summary summarise(Session& session) const {
    Summary summary;
    summary.dataset = options_.dataset;
    summary.imbalance = options_.imbalance;
    summary.model = options_.model;
    summary.group_by = word_of(options_, "group_by");
    summary.method = options_.method;
    summary.class_share = word_of(options_, "class_share");
    summary.follows_rate = follows_rate(options_);
    summary.pruning_rate = summary.follows_rate ? options_.pruner.common.pruning_rate : 0;
    if (!word_of(options_, "beta").empty()) summary.beta = options_.pruner.rcap.beta;
    summary.seed = options_.seed;
    summary.logit_adjustment = options_.logit_adjustment;
    summary.evaluated_on = word_of(options_, "evaluate");
    summary.held_out_count = dataset_.held_out.size();
    summary.min_test_samples = options_.min_test_samples;
    summary.changed_labels = dataset_.changed_labels;
    summary.n_train = dataset_.train.size();
    summary.keep_count = session.pruner().keep_count();
    summary.epochs = options_.epochs;
    summary.samples_seen = session.state().samples_seen;
    summary.cost = cost_of(session.state());
    const auto names = group_names(dataset_, options_.group_by);
    summary.group_names.assign(names.begin(), names.end());
    summary.group_sizes =
        group_sizes(dataset_, evaluated_split(dataset_, options_.evaluate), options_.group_by);
    const auto sizes = classes_->class_sizes();
    summary.train_class_sizes.assign(sizes.begin(), sizes.end());
    summary.evaluation = last_evaluation();
    summary.seconds = session.state().run_seconds;
    return summary;
  }

  TrainOptions options_;
  bool resume_;
  TrainListener& listener_;
  RunFolder folder_;
  Checkpoints checkpoints_;
  Dataset dataset_;
  std::shared_ptr<const ClassIndex> classes_;  ///< what the budget is split over
  double setup_seconds_ = 0;
  ScoringCost scoring_cost_{.seconds = 0, .samples = SampleCost{}};
  Clock::time_point last_save_ = Clock::now();
};

/// Does the work; reports errors of LibTorch without their stack traces.
template <class Work>
auto without_stack(Work work) {
  try {
    return work();
  } catch (const c10::Error& error) {
    throw std::runtime_error(error.what_without_backtrace());
  }
}

}  // namespace

std::optional<Summary> train(const TrainOptions& options, const RunOptions& run,
                             TrainListener& listener) {
  check_options(options);
  require_weights(options);
  return without_stack([&] { return Run(options, run, listener).execute(); });
}

bool score(const TrainOptions& options, const RunOptions& run, TrainListener& listener) {
  check_options(options);
  require_weights(options);
  return without_stack([&] { return Run(options, run, listener).score(); });
}

}  // namespace rcap
