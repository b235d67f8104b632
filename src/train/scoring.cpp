#include "train/scoring.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/subsample.hpp"
#include "io/refuse_file.hpp"
#include "io/safetensors.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/scorers/divergence_scorer.hpp"
#include "rcap/core/scorers/margin_scorer.hpp"
#include "rcap/core/scorers/recall_scorer.hpp"
#include "train/grouping.hpp"
#include "train/session.hpp"
#include "train/stopwatch.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;
using Classes = std::shared_ptr<const ClassIndex>;

// Tensors of a score file, and the prefixes of a method in the keys of its cost.
constexpr const char* MarginsName = "margins";
constexpr const char* DivergencesName = "divergences";
constexpr const char* RecallsName = "recalls";
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

/// Computes margins and divergences during one training on everything.
/// @return false if the listener stopped it
bool listen_to_training(const TrainOptions& options, std::span<const std::string> methods,
                        const Dataset& dataset, const Classes& classes, TrainListener& listener,
                        SampleScores& scores) {
  const auto by_margins = choosing_by(Scores::Margins, methods);
  const auto by_divergences = choosing_by(Scores::Divergences, methods);
  if (by_margins.empty() && by_divergences.empty()) return true;
  double seconds = 0;
  Session session(options, dataset, dataset.train, keep_all(options, classes), "scoring", listener);
  std::optional<MarginScorer> margins;
  if (!by_margins.empty()) margins.emplace(labels_of(dataset));
  std::optional<DivergenceScorer> divergences;
  if (!by_divergences.empty()) {
    const std::int64_t epochs = std::min(options.score_epochs, options.epochs);
    const DivergenceOptions listening{.epochs = epochs,
                                      .window = std::min(options.score_window, epochs)};
    divergences.emplace(labels_of(dataset), listening);
  }
  const auto cost_so_far = [&] {
    return ScoringCost{seconds, SampleCost{.trained = session.state().samples_seen}};
  };
  while (margins ? !session.done() : !divergences->done()) {
    const bool diverges = divergences && !divergences->done();
    {
      const Stopwatch watch(seconds);
      const auto trained = session.train_epoch([&](const Batch& batch) {
        // This waits for the outputs of every batch: scorers need them in order, and a row for each
        // sample would be too much to keep for later.
        if (margins) margins->add(batch.ids, session.engine().logits());
        if (diverges) divergences->add(batch.ids, session.engine().probabilities());
        return !listener.wants_to_stop();
      });
      if (!trained) return false;
      if (diverges) divergences->end_epoch();
    }
    if (diverges) note_cost(scores, by_divergences, cost_so_far());
  }
  if (margins) {
    scores.margins = margins->scores();
    note_cost(scores, by_margins, cost_so_far());
  }
  if (divergences) scores.divergences = divergences->scores();
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
  if (!scores.margins.empty()) {
    tensors.push_back(view_of(MarginsName, TensorType::F32, scores.margins));
  }
  if (!scores.divergences.empty()) {
    tensors.push_back(view_of(DivergencesName, TensorType::F32, scores.divergences));
  }
  if (!scores.recalls.empty()) {
    tensors.push_back(view_of(RecallsName, TensorType::F64, scores.recalls));
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
  const Scores kind = require_method(options.method).needs_scores;
  if (kind == Scores::Margins) {
    scores.margins = values_of<float>(path, file, MarginsName, TensorType::F32, samples);
  } else if (kind == Scores::Divergences) {
    scores.divergences = values_of<float>(path, file, DivergencesName, TensorType::F32, samples);
  } else {
    scores.recalls =
        values_of<double>(path, file, RecallsName, TensorType::F64, classes.class_count());
  }
  scores.costs[options.method] = *cost;
  return scores;
}

}  // namespace rcap
