#pragma once

#include <vector>

#include "study/study_folder.hpp"

namespace rcap {

/// Puts a scoring run before the first of the runs that can share it, and makes these wait for it:
/// runs of methods that select by scores and were given none, on the same data, with the same
/// network, training and seed.
/// @throws InvalidArgument  two of them make scores from different numbers of epochs or with
///                          different windows
[[nodiscard]] std::vector<PlannedRun> with_scoring_runs(std::vector<PlannedRun> runs);

}  // namespace rcap
