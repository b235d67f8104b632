#pragma once

#include <span>
#include <vector>

namespace rcap {

/// ln of each weight's part of their sum, the same on every machine.
///
/// A weight of 0 counts as half of the least of the others, at most as 1/2, so that its logarithm
/// is finite and the lowest. The sum does not include these.
///
/// @param weights  finite and >= 0, not all 0, with a finite sum
[[nodiscard]] std::vector<double> log_parts(std::span<const double> weights);

}  // namespace rcap
