#include "study/cost_model.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "rcap/core/run_cost.hpp"
#include "train/score_kinds.hpp"
#include "train/scoring.hpp"

namespace rcap {
namespace {

/// Besides its epochs a run evaluates, opens the data, loads LibTorch: worth this many full epochs.
constexpr double EpochsAround = 1;
/// The fraction that is left to train on if recalls are measured.
constexpr double NotHeldOut = 1 - 1.0 / RecallsHoldOutOneIn;

/// One training makes all scores but recalls; it lasts as long as the longest of them needs.
double scoring_epochs(const TrainOptions& options) {
  std::int64_t shared = 0;
  double recalls = 0;
  for (const std::string& method : options.make_scores) {
    const ScoreKind& kind = score_kind(require_method(method).needs_scores);
    const std::int64_t epochs = scored_epochs(kind, options);
    if (kind.kind == Scores::Recalls) {
      recalls = NotHeldOut * static_cast<double>(epochs);
    } else {
      shared = std::max(shared, epochs);
    }
  }
  return static_cast<double>(shared) + recalls;
}

/// The number of epochs on everything that would see as many samples.
double full_epochs(const PlannedRun& run) {
  const TrainOptions& options = run.options;
  if (run.makes_scores) return scoring_epochs(options);
  // infobatch that need not meet the rate leaves what its own rule does.
  const double kept_part = follows_rate(options) ? 1 - options.pruner.common.pruning_rate : 1;
  return planned_cost(require_method(options.method), options.pruner, kept_part, options.epochs)
      .in_full_epochs();
}

std::pair<std::string, std::string> kind_of(const PlannedRun& run) {
  if (run.makes_scores) return {run.dataset, "scoring"};
  if (!follows_rate(run.options)) return {run.dataset, run.options.method};
  return {run.dataset, fmt::format("{}", run.options.pruner.common.pruning_rate)};
}

}  // namespace

double full_trainings(const PlannedRun& run) {
  return full_epochs(run) / static_cast<double>(run.options.epochs);
}

void CostModel::add(const PlannedRun& run, double seconds) {
  const double units = full_epochs(run) + EpochsAround;
  for (Sum* sum : {&by_kind_[kind_of(run)], &by_dataset_[run.dataset], &all_}) {
    sum->seconds += seconds;
    sum->units += units;
  }
}

double CostModel::estimate(const PlannedRun& run) const {
  const double units = full_epochs(run) + EpochsAround;
  const auto scaled = [units](const Sum& sum) { return sum.seconds / sum.units * units; };
  if (const auto kind = by_kind_.find(kind_of(run)); kind != by_kind_.end()) {
    return scaled(kind->second);
  }
  if (const auto dataset = by_dataset_.find(run.dataset); dataset != by_dataset_.end()) {
    return scaled(dataset->second);
  }
  return all_.units == 0 ? -1 : scaled(all_);
}

}  // namespace rcap
