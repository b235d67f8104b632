#pragma once

#include <optional>
#include <span>
#include <vector>

namespace rcap {

/// The ranks of values, from 1; equal values share the mean of their ranks.
[[nodiscard]] std::vector<double> ranks_of(std::span<const double> values);

/// Spearman's correlation: Pearson's correlation of the ranks, so 1 if one series rises whenever
/// the other does, whatever the shape.
///
/// @param b  as many values as `a`
/// @return empty if a series is constant, has a NaN or has fewer than two values
/// @throws InvalidArgument  the lengths differ
[[nodiscard]] std::optional<double> spearman_correlation(std::span<const double> a,
                                                         std::span<const double> b);

}  // namespace rcap
