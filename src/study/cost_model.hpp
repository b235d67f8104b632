#pragma once

#include <map>
#include <string>
#include <utility>

#include "study/study_folder.hpp"

namespace rcap {

/// What a run costs over a training on everything with as many epochs, in samples seen.
[[nodiscard]] double full_trainings(const PlannedRun& run);

/// Tells how long runs will take from those that are done: from runs of the same data set and
/// rate, else of the same data set, else of any, in proportion to what they see.
class CostModel {
 public:
  void add(const PlannedRun& run, double seconds);

  /// Seconds; below 0 as long as no run is done.
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
