#include "train/scoring.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/subsample.hpp"
#include "io/refuse_file.hpp"
#include "io/safetensors.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/scorers/divergence_scorer.hpp"
#include "rcap/core/scorers/el2n_scorer.hpp"
#include "rcap/core/scorers/forgetting_scorer.hpp"
#include "rcap/core/scorers/margin_scorer.hpp"
#include "rcap/core/scorers/recall_scorer.hpp"
#include "rcap/core/scorers/uncertainty_scorer.hpp"
#include "train/grouping.hpp"
#include "train/score_kinds.hpp"
#include "train/session.hpp"
#include "train/stopwatch.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;
using Classes = std::shared_ptr<const ClassIndex>;

/// The tensor of a score file that goes with those of `Scores::Dual`.
constexpr const char* MeanProbabilitiesName = "mean_probabilities";
// The prefixes of a method in the keys of its cost.
const std::string SecondsPrefix = "seconds.";
const std::string TrainedPrefix = "trained_samples.";
const std::string ForwardPrefix = "forward_samples.";

std::unique_ptr<Pruner> keep_all(const TrainOptions& options, const Classes& classes) {
  PrunerOptions pruner = options.pruner;
  pruner.common.pruning_rate = 0;
  return make_pruner("full", classes, pruner);
}

/// The classes that the network distinguishes, whatever the budget is split over.
Classes labels_of(const Dataset& dataset) {
  return std::make_shared<const ClassIndex>(dataset.train.labels, dataset.class_count());
}

/// Right answers as the group of the sample, wrong ones as another group.
std::vector<ClassId> predicted_groups(std::span<const ClassId> groups, const Split& split,
                                      std::span<const ClassId> predictions, ClassId group_count) {
  std::vector<ClassId> predicted(groups.begin(), groups.end());
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    if (predictions[i] != split.labels[i]) predicted[i] = (predicted[i] + 1) % group_count;
  }
  return predicted;
}

/// Those of the methods that select by such scores.
std::vector<std::string> choosing_by(Scores kind, std::span<const std::string> methods) {
  std::vector<std::string> chosen;
  std::ranges::copy_if(methods, std::back_inserter(chosen), [&](const std::string& method) {
    return require_method(method).needs_scores == kind;
  });
  return chosen;
}

void note_cost(SampleScores& scores, std::span<const std::string> methods,
               const ScoringCost& cost) {
  for (const std::string& method : methods) scores.costs[method] = cost;
}

/// What listens to the training on everything for one kind of score.
struct Follower {
  std::function<void(const Batch&, Engine&)> add;  ///< after each batch
  std::function<void()> end_epoch;
  std::function<void(SampleScores&)> finish;  ///< after its last epoch
};

/// Its scores are in `per_sample`, and all that differs is what it adds.
template <class Scorer, class Add>
Follower follow_with(Scores kind, const std::shared_ptr<Scorer>& scorer, Add add) {
  return {.add = [scorer, add](const Batch& batch, Engine& engine) { add(*scorer, batch, engine); },
          .end_epoch = [scorer] { scorer->end_epoch(); },
          .finish = [kind,
                     scorer](SampleScores& scores) { scores.per_sample[kind] = scorer->scores(); }};
}

std::int64_t window_in(const TrainOptions& options, std::int64_t epochs) {
  return std::min(options.score_window, epochs);
}

Follower follow_margins(const TrainOptions&, const Classes& labels, std::int64_t) {
  const auto scorer = std::make_shared<MarginScorer>(labels);
  return {.add = [scorer](const Batch& batch,
                          Engine& engine) { scorer->add(batch.ids, engine.logits()); },
          .end_epoch = [] {},
          .finish =
              [scorer](SampleScores& scores) {
                scores.per_sample[Scores::Margins] = scorer->scores();
              }};
}

Follower follow_divergences(const TrainOptions& options, const Classes& labels,
                            std::int64_t epochs) {
  const DivergenceOptions listening{.epochs = epochs, .window = window_in(options, epochs)};
  return follow_with(Scores::Divergences, std::make_shared<DivergenceScorer>(labels, listening),
                     [](auto& scorer, const Batch& batch, Engine& engine) {
                       scorer.add(batch.ids, engine.probabilities());
                     });
}

Follower follow_error_norms(const TrainOptions& options, const Classes& labels,
                            std::int64_t epochs) {
  const El2nOptions listening{.first_epoch = epochs - window_in(options, epochs),
                              .last_epoch = epochs - 1};
  return follow_with(Scores::ErrorNorms, std::make_shared<El2nScorer>(labels, listening),
                     [](auto& scorer, const Batch& batch, Engine& engine) {
                       scorer.add(batch.ids, engine.probabilities());
                     });
}

/// The class of the highest output of each sample; the lowest of equal ones.
std::vector<ClassId> predictions_of(std::span<const float> logits, std::size_t sample_count) {
  const std::size_t width = sample_count == 0 ? 0 : logits.size() / sample_count;
  std::vector<ClassId> predictions(sample_count);
  for (std::size_t i = 0; i < sample_count; ++i) {
    const auto row = logits.subspan(i * width, width);
    predictions[i] = static_cast<ClassId>(std::ranges::max_element(row) - row.begin());
  }
  return predictions;
}

Follower follow_forgetting(const TrainOptions&, const Classes& labels, std::int64_t) {
  return follow_with(Scores::Forgetting, std::make_shared<ForgettingScorer>(labels),
                     [](auto& scorer, const Batch& batch, Engine& engine) {
                       scorer.add(batch.ids, predictions_of(engine.logits(), batch.ids.size()));
                     });
}

/// Listens to the losses. What is read in the end is not the same for its two kinds.
template <class Finish>
Follower follow_losses(const Classes& labels, const UncertaintyOptions& listening, Finish finish) {
  const auto scorer = std::make_shared<UncertaintyScorer>(labels->sample_count(), listening);
  return {.add = [scorer](const Batch& batch,
                          Engine& engine) { scorer->add(batch.ids, engine.losses()); },
          .end_epoch = [scorer] { scorer->end_epoch(); },
          .finish = [scorer, finish](SampleScores& scores) { finish(*scorer, scores); }};
}

Follower follow_uncertainties(const TrainOptions& options, const Classes& labels,
                              std::int64_t epochs) {
  return follow_losses(labels, {.window = window_in(options, epochs), .dual_epochs = epochs},
                       [](const UncertaintyScorer& scorer, SampleScores& scores) {
                         scores.per_sample[Scores::Uncertainties] = scorer.uncertainties();
                       });
}

Follower follow_dual(const TrainOptions& options, const Classes& labels, std::int64_t epochs) {
  return follow_losses(labels, {.window = window_in(options, epochs), .dual_epochs = epochs},
                       [](const UncertaintyScorer& scorer, SampleScores& scores) {
                         scores.per_sample[Scores::Dual] = scorer.dual_scores();
                         scores.mean_probabilities = scorer.mean_probabilities();
                       });
}

/// The kinds that come from one training on everything, and what makes their followers. Its last
/// argument is the number of epochs to follow.
constexpr struct {
  Scores kind;
  Follower (*follow)(const TrainOptions&, const Classes&, std::int64_t);
} Followed[] = {
    {Scores::Margins, follow_margins},
    {Scores::Divergences, follow_divergences},
    {Scores::ErrorNorms, follow_error_norms},
    {Scores::Forgetting, follow_forgetting},
    {Scores::Uncertainties, follow_uncertainties},
    {Scores::Dual, follow_dual},
};

/// A follower, for how many epochs, and the methods that choose by its scores.
struct Listening {
  Follower follower;
  std::int64_t epochs;
  std::vector<std::string> methods;
};

std::vector<Listening> listen_for(const TrainOptions& options, std::span<const std::string> methods,
                                  const Dataset& dataset) {
  const Classes labels = labels_of(dataset);
  std::vector<Listening> all;
  for (const auto& [kind, follow] : Followed) {
    auto choosing = choosing_by(kind, methods);
    if (choosing.empty()) continue;
    const std::int64_t epochs = scored_epochs(score_kind(kind), options);
    all.push_back({follow(options, labels, epochs), epochs, std::move(choosing)});
  }
  return all;
}

/// Computes all scores that come from one training on everything, which ends when nothing listens
/// to it any more.
/// @return false if the listener stopped it
bool listen_to_training(const TrainOptions& options, std::span<const std::string> methods,
                        const Dataset& dataset, const Classes& classes, TrainListener& listener,
                        SampleScores& scores) {
  std::vector<Listening> listening = listen_for(options, methods, dataset);
  if (listening.empty()) return true;
  double seconds = 0;
  Session session(options, dataset, dataset.train, keep_all(options, classes), "scoring", listener);
  for (std::int64_t epoch = 0; !listening.empty(); ++epoch) {
    {
      const Stopwatch watch(seconds);
      const auto trained = session.train_epoch([&](const Batch& batch) {
        // This waits for the outputs of every batch: scorers need them in order, and a row for each
        // sample would be too much to keep for later.
        for (const Listening& each : listening) each.follower.add(batch, session.engine());
        return !listener.wants_to_stop();
      });
      if (!trained) return false;
      for (const Listening& each : listening) each.follower.end_epoch();
    }
    const ScoringCost cost{seconds, SampleCost{.trained = session.state().samples_seen}};
    std::erase_if(listening, [&](const Listening& each) {
      if (epoch + 1 < each.epochs) return false;
      each.follower.finish(scores);
      note_cost(scores, each.methods, cost);
      return true;
    });
  }
  return true;
}

/// Trains on nine tenths and measures recalls on the rest.
/// @return the samples it took; empty if the listener stopped it
std::optional<SampleCost> measure_recalls(const TrainOptions& options, const Dataset& dataset,
                                          const Classes& classes, TrainListener& listener,
                                          SampleScores& scores) {
  SampleCost cost;
  const auto [kept, held_out] =
      hold_out(*classes, RecallsHoldOutOneIn, options.seed, SubsampleUse::Recalls);
  if (held_out.empty()) {
    throw InvalidArgument(
        "metriq: recalls are measured on held-out samples, but every class has a single sample; "
        "choose another method");
  }
  const Split train = subset(dataset.train, kept);
  const Split validation = subset(dataset.train, held_out);
  const auto train_classes = std::make_shared<const ClassIndex>(groups_of(train, options.group_by),
                                                                classes->class_count());
  Session session(options, dataset, train, keep_all(options, train_classes), "scoring", listener);
  RecallScorer scorer(classes->class_count());
  while (!session.done()) {
    const auto trained =
        session.train_epoch([&](const Batch&) { return !listener.wants_to_stop(); });
    if (!trained) return std::nullopt;
    // The method selects by the recalls, so this counts as its cost and not as an evaluation.
    cost += {.trained = trained->selected, .forward = validation.size()};
    const auto groups = groups_of(validation, options.group_by);
    scorer.add(groups, predicted_groups(groups, validation, session.predict(validation).plain,
                                        classes->class_count()));
    scorer.end_epoch();
  }
  scores.recalls = scorer.recalls();
  return cost;
}

std::string fingerprint_text(const ClassIndex& classes) {
  return fmt::format("{:016x}", classes.fingerprint());
}

template <class T>
TensorView view_of(const std::string& name, TensorType type, const std::vector<T>& values) {
  return {name, type, {static_cast<std::int64_t>(values.size())}, std::as_bytes(std::span(values))};
}

template <class T>
std::vector<T> values_of(const fs::path& path, const SafetensorsFile& file, const char* name,
                         TensorType type, std::int64_t count) {
  const TensorView* view = file.find(name);
  if (view == nullptr || view->type != type || view->shape != std::vector{count}) {
    refuse_file(path, "has no tensor \"{}\" of {} numbers; make scores with rcap train", name,
                count);
  }
  std::vector<T> values(static_cast<std::size_t>(count));
  std::memcpy(values.data(), view->data.data(), view->data.size());
  return values;
}

/// "ccs, tdds", or "no method".
std::string methods_in(const SafetensorsFile& file) {
  std::vector<std::string> methods;
  for (const auto& [key, value] : file.metadata()) {
    if (key.starts_with(SecondsPrefix)) methods.push_back(key.substr(SecondsPrefix.size()));
  }
  std::ranges::sort(methods);
  return methods.empty() ? "no method" : fmt::format("{}", fmt::join(methods, ", "));
}

std::string metadata_of(const SafetensorsFile& file, const char* key) {
  const auto found = file.metadata().find(key);
  return found == file.metadata().end() ? std::string("unknown") : found->second;
}

/// Empty if the file has no scores for the method.
std::optional<ScoringCost> cost_of(const SafetensorsFile& file, const std::string& method) {
  const auto& metadata = file.metadata();
  const auto seconds = metadata.find(SecondsPrefix + method);
  if (seconds == metadata.end()) return std::nullopt;
  ScoringCost cost{.seconds = std::strtod(seconds->second.c_str(), nullptr), .samples = {}};
  const auto trained = metadata.find(TrainedPrefix + method);
  const auto forward = metadata.find(ForwardPrefix + method);
  if (trained == metadata.end() || forward == metadata.end()) return cost;
  cost.samples = {.trained = std::strtoll(trained->second.c_str(), nullptr, 10),
                  .forward = std::strtoll(forward->second.c_str(), nullptr, 10)};
  return cost;
}

}  // namespace

std::optional<SampleScores> make_scores(const TrainOptions& options,
                                        std::span<const std::string> methods,
                                        const Dataset& dataset, const Classes& classes,
                                        TrainListener& listener) {
  SampleScores scores;
  if (!listen_to_training(options, methods, dataset, classes, listener, scores)) {
    return std::nullopt;
  }
  if (const auto by_recalls = choosing_by(Scores::Recalls, methods); !by_recalls.empty()) {
    ScoringCost cost;
    {
      const Stopwatch watch(cost.seconds);
      cost.samples = measure_recalls(options, dataset, classes, listener, scores);
    }
    if (!cost.samples) return std::nullopt;
    note_cost(scores, by_recalls, cost);
  }
  return scores;
}

void write_scores(const fs::path& path, const SampleScores& scores, const TrainOptions& options,
                  const ClassIndex& classes) {
  std::vector<TensorView> tensors;
  for (const auto& [kind, values] : scores.per_sample) {
    tensors.push_back(view_of(score_kind(kind).name, TensorType::F32, values));
  }
  if (!scores.mean_probabilities.empty()) {
    tensors.push_back(view_of(MeanProbabilitiesName, TensorType::F32, scores.mean_probabilities));
  }
  if (!scores.recalls.empty()) {
    tensors.push_back(view_of(score_kind(Scores::Recalls).name, TensorType::F64, scores.recalls));
  }
  std::map<std::string, std::string> metadata{{"labels", fingerprint_text(classes)},
                                              {"model", options.model},
                                              {"epochs", fmt::format("{}", options.epochs)},
                                              {"seed", fmt::format("{}", options.seed)}};
  for (const auto& [method, cost] : scores.costs) {
    metadata[SecondsPrefix + method] = fmt::format("{}", cost.seconds);
    if (!cost.samples) continue;
    metadata[TrainedPrefix + method] = fmt::format("{}", cost.samples->trained);
    metadata[ForwardPrefix + method] = fmt::format("{}", cost.samples->forward);
  }
  write_safetensors(path, tensors, metadata);
}

SampleScores read_scores(const fs::path& path, const TrainOptions& options,
                         const ClassIndex& classes) {
  const SafetensorsFile file(path);
  const std::optional<ScoringCost> cost = cost_of(file, options.method);
  if (!cost) {
    throw StateMismatch(fmt::format("{}: has scores for {}, this run is {}; make scores for it",
                                    path.string(), methods_in(file), options.method));
  }
  if (metadata_of(file, "labels") != fingerprint_text(classes)) {
    throw StateMismatch(
        fmt::format("{}: has scores of another data set (its labels differ); use the same data "
                    "set, imbalance and seed",
                    path.string()));
  }
  SampleScores scores;
  const std::int64_t samples = classes.sample_count();
  const ScoreKind& kind = score_kind(require_method(options.method).needs_scores);
  if (kind.kind == Scores::Recalls) {
    scores.recalls =
        values_of<double>(path, file, kind.name, TensorType::F64, classes.class_count());
  } else {
    scores.per_sample[kind.kind] =
        values_of<float>(path, file, kind.name, TensorType::F32, samples);
  }
  if (kind.kind == Scores::Dual) {
    scores.mean_probabilities =
        values_of<float>(path, file, MeanProbabilitiesName, TensorType::F32, samples);
  }
  scores.costs[options.method] = *cost;
  return scores;
}

}  // namespace rcap
