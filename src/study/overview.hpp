#pragma once

#include <string>

#include "study/results.hpp"

namespace rcap {

/// The outcome of a study for a person at a terminal: for each data set and pruning rate, a
/// Markdown table with aligned columns and a line for each method. It shows samples per epoch,
/// accuracy of the worst and the average group, seconds, and how many times cheaper than "full" it
/// is.
///
/// If a method was run at several betas, the one nearest to 1 is shown.
[[nodiscard]] std::string overview_of(const StudyResults& results);

}  // namespace rcap
