#pragma once

#include <string>

#include "study/results.hpp"

namespace rcap {

/// "3 seeds (0, 27, 100)".
[[nodiscard]] std::string seeds_text(const StudyResults& results);

/// What the groups are and how large they are, a sentence for each data set: one sample more or
/// less moves the accuracy of a small group by points.
[[nodiscard]] std::string describe_groups(const StudyResults& results);

}  // namespace rcap
