#pragma once

#include <map>
#include <string>
#include <utility>

#include "study/study_folder.hpp"

namespace rcap {

/// What a run costs, relative to training on everything for the same number of epochs, in samples
/// seen.
[[nodiscard]] double full_trainings(const PlannedRun& run);

/// Estimates how long runs will take from those that are done: from runs of the same data set and
/// rate if there are any, otherwise of the same data set, otherwise of any, in proportion to the
/// samples they see.
class CostModel {
 public:
  void add(const PlannedRun& run, double seconds);

  /// Seconds; below 0 until a run is done.
  [[nodiscard]] double estimate(const PlannedRun& run) const;

 private:
  struct Sum {
    double seconds = 0;
    double units = 0;
  };

  std::map<std::pair<std::string, std::string>, Sum> by_kind_;
  std::map<std::string, Sum> by_dataset_;
  Sum all_;
};

}  // namespace rcap
