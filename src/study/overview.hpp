#pragma once

#include <string>

#include "study/results.hpp"

namespace rcap {

/// The outcome of a study for a person at a terminal: for each data set and pruning rate a table
/// with a line for each method, in Markdown with its columns aligned. Samples an epoch, accuracy
/// of the worst and the average group, seconds, and how many times cheaper than "full".
///
/// Where a method was run at several betas the nearest to 1 stands for it.
[[nodiscard]] std::string overview_of(const StudyResults& results);

}  // namespace rcap
