#include "study/cost_model.hpp"

#include <algorithm>
#include <cstdlib>

#include "study/option_list.hpp"

namespace rcap {
namespace {

/// Around its epochs a run evaluates, opens the data, loads LibTorch: worth so many full epochs.
constexpr double EpochsAround = 1;
/// A forward pass, of the three parts of a step that cost about the same.
constexpr double ForwardPart = 1.0 / 3;

double number_of(const PlannedRun& run, const char* option, double otherwise) {
  const std::string value = value_of(run.options, option);
  return value.empty() ? otherwise : std::strtod(value.c_str(), nullptr);
}

double scoring_epochs(const PlannedRun& run, double epochs) {
  const std::string methods = "," + value_of(run.options, "make-scores") + ",";
  double sum = 0;
  if (methods.find(",ccs,") != std::string::npos) {
    sum = epochs;
  } else if (methods.find(",tdds,") != std::string::npos) {
    sum = std::min(epochs, number_of(run, "score-epochs", epochs));
  }
  // metriq trains on nine tenths.
  if (methods.find(",metriq,") != std::string::npos) sum += 0.9 * epochs;
  return sum;
}

/// Epochs on everything that see as many samples.
double full_epochs(const PlannedRun& run) {
  const double epochs = number_of(run, "epochs", 1);
  if (run.makes_scores) return scoring_epochs(run, epochs);
  const std::string method = value_of(run.options, "method");
  if (method == "full") return epochs;
  const double kept = (1 - number_of(run, "pruning-rate", 0)) * epochs;
  if (method == "rcap") return kept + ForwardPart;
  // These see everything once before they prune.
  if (method == "ucb" || method == "epsilon-greedy") return kept + kept / epochs;
  return kept;
}

std::pair<std::string, std::string> kind_of(const PlannedRun& run) {
  if (run.makes_scores) return {run.dataset, "scoring"};
  if (value_of(run.options, "method") == "full") return {run.dataset, "full"};
  return {run.dataset, value_of(run.options, "pruning-rate")};
}

}  // namespace

double full_trainings(const PlannedRun& run) {
  return full_epochs(run) / number_of(run, "epochs", 1);
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
