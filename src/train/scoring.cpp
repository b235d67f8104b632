#include "train/scoring.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "rcap/core/error.hpp"
#include "rcap/core/scorers/divergence_scorer.hpp"
#include "rcap/core/scorers/margin_scorer.hpp"
#include "rcap/core/scorers/recall_scorer.hpp"
#include "rcap/core/weighted_draw.hpp"
#include "rcap/io/safetensors.hpp"
#include "rcap/train/grouping.hpp"
#include "train/session.hpp"
#include "train/stopwatch.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;
using Classes = std::shared_ptr<const ClassIndex>;

/// One part in so many of each class is held out for MetriQ.
constexpr std::int64_t HeldOutPart = 10;
/// Streams of `Purpose::Subsample` are told apart by their epoch; others count from 0 up.
constexpr std::int64_t HeldOutStream = -10;

std::unique_ptr<Pruner> keep_all(const TrainOptions& options, const Classes& classes) {
  PrunerOptions pruner = options.pruner;
  pruner.common.pruning_rate = 0;
  return make_pruner("full", classes, pruner);
}

/// What the network tells apart, whatever the budget is split over.
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

std::vector<float> score_margins(const TrainOptions& options, const Dataset& dataset,
                                 const Classes& classes, TrainListener& listener) {
  Session session(options, dataset, dataset.train, keep_all(options, classes), "scoring", listener);
  MarginScorer scorer(labels_of(dataset));
  while (!session.done()) {
    (void)session.train_epoch([&](const Batch& batch) {
      scorer.add(batch.ids, session.engine().logits());
      return true;
    });
  }
  return scorer.scores();
}

std::vector<float> score_divergences(const TrainOptions& options, const Dataset& dataset,
                                     const Classes& classes, TrainListener& listener) {
  Session session(options, dataset, dataset.train, keep_all(options, classes), "scoring", listener);
  DivergenceOptions listening = options.divergence;
  listening.epochs = std::min(listening.epochs, options.epochs);
  listening.window = std::min(listening.window, listening.epochs);
  DivergenceScorer scorer(labels_of(dataset), listening);
  while (!scorer.done()) {
    (void)session.train_epoch([&](const Batch& batch) {
      scorer.add(batch.ids, session.engine().probabilities());
      return true;
    });
    scorer.end_epoch();
  }
  return scorer.scores();
}

std::vector<double> score_recalls(const TrainOptions& options, const Dataset& dataset,
                                  const Classes& classes, TrainListener& listener) {
  std::vector<std::int64_t> counts;
  for (const std::int64_t size : classes->class_sizes()) {
    // A class of one sample keeps it: nothing can be learnt of a class that is all held out.
    counts.push_back(size < 2 ? 0 : std::max<std::int64_t>(1, size / HeldOutPart));
  }
  const SampleSet held_out = draw_per_class(
      *classes, counts, RandomStream(options.seed, Purpose::Subsample, HeldOutStream));
  SampleSet rest = SampleSet::all(classes->sample_count());
  rest.subtract(held_out);
  const Split train = subset(dataset.train, rest.ids());
  const Split validation = subset(dataset.train, held_out.ids());
  const auto train_classes = std::make_shared<const ClassIndex>(groups_of(train, options.group_by),
                                                                classes->class_count());
  Session session(options, dataset, train, keep_all(options, train_classes), "scoring", listener);
  RecallScorer scorer(classes->class_count());
  while (!session.done()) {
    (void)session.train_epoch([](const Batch&) { return true; });
    const auto groups = groups_of(validation, options.group_by);
    scorer.add(groups, predicted_groups(groups, validation, session.predict(validation),
                                        classes->class_count()));
    scorer.end_epoch();
  }
  return scorer.recalls();
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
    throw BadFile(fmt::format("{}: has no tensor \"{}\" of {} numbers; make it with rcap train",
                              path.string(), name, count));
  }
  std::vector<T> values(static_cast<std::size_t>(count));
  std::memcpy(values.data(), view->data.data(), view->data.size());
  return values;
}

std::string metadata_of(const SafetensorsFile& file, const char* key) {
  const auto found = file.metadata().find(key);
  return found == file.metadata().end() ? std::string("unknown") : found->second;
}

}  // namespace

Scores make_scores(const TrainOptions& options, const Dataset& dataset, const Classes& classes,
                   TrainListener& listener) {
  Scores scores;
  const Stopwatch watch(scores.seconds);
  if (options.method == "ccs") {
    scores.scores = score_margins(options, dataset, classes, listener);
  } else if (options.method == "tdds") {
    scores.scores = score_divergences(options, dataset, classes, listener);
  } else {
    scores.recalls = score_recalls(options, dataset, classes, listener);
  }
  return scores;
}

void write_scores(const fs::path& path, const Scores& scores, const TrainOptions& options,
                  const ClassIndex& classes) {
  std::vector<TensorView> tensors;
  if (!scores.scores.empty()) tensors.push_back(view_of("scores", TensorType::F32, scores.scores));
  if (!scores.recalls.empty()) {
    tensors.push_back(view_of("recalls", TensorType::F64, scores.recalls));
  }
  write_safetensors(path, tensors,
                    {{"method", options.method},
                     {"labels", fingerprint_text(classes)},
                     {"model", options.model},
                     {"epochs", fmt::format("{}", options.epochs)},
                     {"seed", fmt::format("{}", options.seed)},
                     {"seconds", fmt::format("{}", scores.seconds)}});
}

Scores read_scores(const fs::path& path, const TrainOptions& options, const ClassIndex& classes) {
  const SafetensorsFile file(path);
  const std::string method = metadata_of(file, "method");
  if (method != options.method) {
    throw StateMismatch(
        fmt::format("{}: scores of method {}, this run is {}; give scores of its own",
                    path.string(), method, options.method));
  }
  if (metadata_of(file, "labels") != fingerprint_text(classes)) {
    throw StateMismatch(
        fmt::format("{}: scores of another data set (its labels differ); use the same data set, "
                    "imbalance and seed",
                    path.string()));
  }
  Scores scores;
  if (options.method == "metriq") {
    scores.recalls =
        values_of<double>(path, file, "recalls", TensorType::F64, classes.class_count());
  } else {
    scores.scores = values_of<float>(path, file, "scores", TensorType::F32, classes.sample_count());
  }
  const std::string seconds = metadata_of(file, "seconds");
  scores.seconds = seconds == "unknown" ? 0 : std::strtod(seconds.c_str(), nullptr);
  return scores;
}

}  // namespace rcap
