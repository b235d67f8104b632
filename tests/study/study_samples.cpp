#include "study/study_samples.hpp"

#include <fmt/format.h>

#include "train/run_folder.hpp"

namespace rcap {
namespace {

constexpr std::int64_t Samples = 1000;
constexpr std::int64_t SmallClass = 10;

std::int64_t kept(const SampleRun& run) {
  const double kept_part = run.method == "full" ? 1 : 1 - run.pruning_rate;
  return static_cast<std::int64_t>(kept_part * Samples + 0.5);
}

Accuracies accuracies_of(double first, double second, double learnt) {
  const double average = (first + second) / 2 * learnt;
  return {.accuracy = average,
          .worst_group_accuracy = std::min(first, second) * learnt,
          .average_group_accuracy = average,
          .adjusted_average_accuracy = {},
          .group_accuracy = {first * learnt, second * learnt}};
}

EpochRecord epoch_of(const SampleRun& run, std::int64_t epoch) {
  EpochRecord record;
  record.epoch = epoch;
  record.lr = 0.1;
  record.train_loss = 2.0 / static_cast<double>(epoch + 1);
  record.selected = kept(run);
  record.class_counts = {SmallClass, record.selected - SmallClass};
  record.class_losses = {3.0 / static_cast<double>(epoch + 1),
                         1.0 / static_cast<double>(epoch + 1)};
  const double learnt = static_cast<double>(epoch + 1) / static_cast<double>(run.epochs);
  record.evaluation.emplace();
  static_cast<Accuracies&>(*record.evaluation) = accuracies_of(run.worst, run.other, learnt);
  if (run.adjusted_worst) {
    record.evaluation->prior_adjusted = accuracies_of(*run.adjusted_worst, run.other, learnt);
  }
  record.seconds.train = run.train_seconds / static_cast<double>(run.epochs);
  return record;
}

TrainOptions options_of(const SampleRun& run) {
  TrainOptions options;
  options.dataset = run.dataset;
  options.imbalance = run.imbalance;
  options.method = run.method;
  options.pruner.common.pruning_rate = run.pruning_rate;
  options.epochs = run.epochs;
  options.seed = static_cast<std::uint64_t>(run.seed);
  return options;
}

}  // namespace

void write_run(const std::filesystem::path& folder, const SampleRun& run) {
  RunFolder files(folder);
  files.begin(options_of(run));
  Summary summary;
  for (std::int64_t epoch = 0; epoch < run.epochs; ++epoch) {
    const EpochRecord record = epoch_of(run, epoch);
    files.add(record);
    summary.evaluation = *record.evaluation;
    summary.seconds += record.seconds;
  }
  summary.dataset = run.dataset;
  summary.imbalance = run.imbalance;
  summary.model = "small-cnn";
  summary.group_by = "class";
  summary.method = run.method;
  if (run.method == "balanced" && run.class_share != "robust") {
    summary.class_share = run.class_share;
  }
  if (run.method == "rcap") {
    summary.class_share = run.class_share;
    summary.beta = run.beta;
  }
  summary.follows_rate = run.follows_rate && run.method != "full";
  summary.pruning_rate = summary.follows_rate ? run.pruning_rate : 0;
  summary.seed = run.seed;
  summary.logit_adjustment = run.logit_adjustment;
  summary.evaluated_on = run.evaluated_on;
  summary.min_test_samples = run.min_test_samples;
  summary.changed_labels = run.changed_labels;
  summary.n_train = Samples;
  summary.keep_count = kept(run);
  summary.epochs = run.epochs;
  summary.samples_seen = kept(run) * run.epochs;
  if (run.counts_samples) {
    summary.cost = {.trained = summary.samples_seen + run.scoring_samples,
                    .forward = run.forward_samples};
  }
  summary.group_names = {"rare", "common"};
  summary.group_sizes = {100, 200};
  summary.train_class_sizes = {SmallClass, Samples - SmallClass};
  summary.seconds.scoring = run.scoring_seconds;
  files.write_summary(summary);
}

}  // namespace rcap
