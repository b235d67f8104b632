#include "rcap/train/trainer.hpp"

#include <chrono>
#include <mutex>

#include "rcap/core/error.hpp"
#include "rcap/data/open_dataset.hpp"
#include "train/checkpoint.hpp"
#include "train/run_folder.hpp"
#include "train/scoring.hpp"
#include "train/session.hpp"
#include "train/stopwatch.hpp"

namespace rcap {
namespace {

using Clock = std::chrono::steady_clock;

void set_threads(int threads) {
  at::set_num_threads(threads);
  // May be set once in a process, before any work: we use no parallelism between operations.
  static std::once_flag once;
  std::call_once(once, [] { at::set_num_interop_threads(1); });
}

/// Options that follow from others.
TrainOptions completed(TrainOptions options) {
  options.pruner.common.seed = options.seed;
  options.pruner.common.threads = options.threads;
  options.pruner.infobatch.epochs = options.epochs;
  if (options.pruner.infobatch.batch_size) {
    options.pruner.infobatch.batch_size = options.batch_size;
  }
  if (options.evaluate_every == 0) options.evaluate_every = (options.epochs + 9) / 10;
  return options;
}

Dataset open_data(const TrainOptions& options) {
  return open_dataset(options.dataset, {.folder = options.data_folder,
                                        .imbalance = options.imbalance,
                                        .seed = options.seed,
                                        .skip_bad = options.skip_bad,
                                        .threads = options.data_workers});
}

Evaluation to_evaluation(const GroupAccuracy& accuracy) {
  return {accuracy.overall(), accuracy.worst(), accuracy.average(), accuracy.by_group()};
}

std::vector<std::int64_t> group_sizes(const Dataset& dataset) {
  const bool has_groups = !dataset.test.groups.empty();
  std::vector<std::int64_t> sizes(has_groups ? dataset.group_names.size()
                                             : dataset.class_names.size());
  for (std::size_t i = 0; i < dataset.test.labels.size(); ++i) {
    ++sizes[static_cast<std::size_t>(has_groups ? dataset.test.groups[i] : dataset.test.labels[i])];
  }
  return sizes;
}

/// One run in its folder.
class Run {
 public:
  Run(const TrainOptions& options, const RunOptions& run, TrainListener& listener)
      : options_(completed(options)),
        resume_(run.resume),
        listener_(listener),
        named_options_(list_options(options_)),
        folder_(run.out),
        checkpoints_(folder_.checkpoints()) {
    if (folder_.has_run() && !resume_) {
      throw InvalidArgument(
          fmt::format("{}: has a run already; go on with it by --resume, or choose another --out",
                      folder_.path().string()));
    }
    if (folder_.has_run()) folder_.require_same_options(named_options_);
    set_threads(options_.threads);
    const Stopwatch watch(setup_seconds_);
    dataset_ = open_data(options_);
    classes_ = std::make_shared<const ClassIndex>(dataset_.train.labels, dataset_.class_count());
  }

  std::optional<Summary> execute() {
    listener_.on_start(dataset_, options_);
    const bool goes_on = folder_.has_run();
    if (!goes_on) folder_.begin(named_options_);
    const double scoring_seconds = prepare_scores();
    std::optional<Session> session;
    {
      const Stopwatch watch(setup_seconds_);
      session.emplace(options_, dataset_, dataset_.train,
                      make_pruner(options_.method, classes_, options_.pruner), "training",
                      listener_);
    }
    const bool has_checkpoint = checkpoints_.any();
    if (has_checkpoint) session->state() = checkpoints_.load(session->engine(), session->pruner());
    RunState& state = session->state();
    if (goes_on) {
      folder_.go_on(state.epoch);
      listener_.on_resume(state.epoch, state.batch);
    }
    state.run_seconds.setup += setup_seconds_;
    if (!has_checkpoint) {
      state.run_seconds.scoring = scoring_seconds;
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
  /// Makes, or reads, what a static method chooses by.
  /// @return the seconds the scoring run took
  double prepare_scores() {
    const MethodInfo* method = find_method(options_.method);
    if (method == nullptr || !(method->needs_scores || method->needs_recalls)) return 0;
    Scores scores;
    if (!options_.scores.empty()) {
      scores = read_scores(options_.scores, options_, *classes_);
    } else if (std::filesystem::exists(folder_.scores())) {
      scores = read_scores(folder_.scores(), options_, *classes_);
    } else {
      scores = make_scores(options_, dataset_, classes_, listener_);
      write_scores(folder_.scores(), scores, options_, *classes_);
    }
    options_.pruner.scores = std::move(scores.scores);
    options_.pruner.recalls = std::move(scores.recalls);
    return scores.seconds;
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
      record.evaluation = to_evaluation(session.evaluate(dataset_.test));
    }
    record.seconds = state.epoch_seconds;
    state.run_seconds += state.epoch_seconds;
    state.epoch_seconds = {};
    folder_.add(record);
    listener_.on_epoch(record, options_.epochs);
    if (checkpoint_is_due()) save(session);
    return session.done() || !listener_.wants_to_stop();
  }

  [[nodiscard]] bool checkpoint_is_due() const {
    return std::chrono::duration<double>(Clock::now() - last_save_).count() >=
           options_.checkpoint_seconds;
  }

  void save(Session& session) {
    double seconds = 0;
    {
      const Stopwatch watch(seconds);
      folder_.sync_records();  // a checkpoint must not know more epochs than the records
      checkpoints_.save(session.state(), session.engine(), session.pruner());
    }
    session.state().run_seconds.checkpoint += seconds;
    last_save_ = Clock::now();
  }

  [[nodiscard]] Summary summarise(Session& session) const {
    const bool is_rcap = options_.method == "rcap";
    const RcapOptions& rcap = options_.pruner.rcap;
    Summary summary;
    summary.dataset = options_.dataset;
    summary.imbalance = options_.imbalance;
    summary.model = options_.model;
    summary.method = options_.method;
    if (is_rcap) summary.class_share = name_of(rcap.class_share);
    summary.pruning_rate = options_.method == "full" ? 0 : options_.pruner.common.pruning_rate;
    if (is_rcap) summary.beta = rcap.beta;
    summary.seed = options_.seed;
    summary.n_train = dataset_.train.size();
    summary.keep_count = session.pruner().keep_count();
    summary.epochs = options_.epochs;
    summary.samples_seen = session.state().samples_seen;
    summary.group_names =
        dataset_.test.groups.empty() ? dataset_.class_names : dataset_.group_names;
    summary.group_sizes = group_sizes(dataset_);
    const auto sizes = classes_->class_sizes();
    summary.train_class_sizes.assign(sizes.begin(), sizes.end());
    summary.evaluation = *folder_.records().back().evaluation;
    summary.seconds = session.state().run_seconds;
    return summary;
  }

  TrainOptions options_;
  bool resume_;
  TrainListener& listener_;
  std::vector<NamedOption> named_options_;
  RunFolder folder_;
  Checkpoints checkpoints_;
  Dataset dataset_;
  std::shared_ptr<const ClassIndex> classes_;
  double setup_seconds_ = 0;
  Clock::time_point last_save_ = Clock::now();
};

}  // namespace

std::optional<Summary> train(const TrainOptions& options, const RunOptions& run,
                             TrainListener& listener) {
  check_options(options);
  return Run(options, run, listener).execute();
}

}  // namespace rcap
