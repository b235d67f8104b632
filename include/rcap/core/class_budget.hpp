#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rcap/core/export.hpp"
#include "rcap/core/ids.hpp"

RCAP_API_BEGIN
namespace rcap {

/// How many samples an epoch trains on: (1 - pruning_rate) * sample_count rounded
/// down, but at least one per class that has samples and at most everything. A product that falls
/// short of a whole number by rounding alone counts as that number: 50,000 samples
/// at 0.7 keep 15,000.
///
/// @param class_count   classes that have samples
/// @param pruning_rate  the fraction removed, 0 <= pruning_rate < 1
/// @throws InvalidArgument  if the rate is outside that range or not a number
[[nodiscard]] std::int64_t keep_count(std::int64_t sample_count, ClassId class_count,
                                      double pruning_rate);

/// How many batches the samples make; the last one may be smaller.
[[nodiscard]] constexpr std::int64_t batches_of(std::int64_t sample_count,
                                                std::int64_t batch_size) noexcept {
  return (sample_count + batch_size - 1) / batch_size;
}

/// Splits `keep_count` over the classes in proportion to `class_weights`, with no class
/// above its size: the optimum of the paper's theorem under alpha_j <= 1.
///
/// A class whose share would exceed its size is taken whole, and the rest is split again among
/// the others until no class is over. One pass, as printed in the paper, can leave a second
/// class over its size. Classes of weight zero split what the others leave, by size.
///
/// @param class_sizes    samples per class; a class may be empty
/// @param class_weights  same length; finite and >= 0
/// @param keep_count     at most the sum of `class_sizes`
/// @return real shares x_j with 0 <= x_j <= class_sizes[j] that add up to `keep_count`
/// @throws InvalidArgument  if one of these conditions is not met; names the class
///
/// O(C log C).
[[nodiscard]] std::vector<double> share_budget(std::span<const std::int64_t> class_sizes,
                                               std::span<const double> class_weights,
                                               std::int64_t keep_count);

/// Turns real shares into counts that add up to `keep_count` exactly: floors first,
/// at least `min_per_class` (or the whole class), then the largest remainders.
///
///  - Too few: one more to the largest x_j - k_j, ties to the lower class.
///  - Too many, through the minimum: one less from the largest k_j - x_j, ties to
///    the larger k_j, then to the lower class.
///  - If the budget is too small for the minimum, the largest minimum that it allows
///    is used instead (0 if there are fewer samples to keep than classes).
///
/// @throws InvalidArgument  if the lengths differ or the budget exceeds the data
///
/// O(C log C).
[[nodiscard]] std::vector<std::int64_t> round_shares(std::span<const std::int64_t> class_sizes,
                                                     std::span<const double> shares,
                                                     std::int64_t keep_count,
                                                     std::int64_t min_per_class = 1);

/// `round_shares` of `share_budget`: RCAP's first step, how many samples of each class. Which
/// ones is the second step (`draw_weighted`).
[[nodiscard]] std::vector<std::int64_t> split_budget(std::span<const std::int64_t> class_sizes,
                                                     std::span<const double> class_weights,
                                                     std::int64_t keep_count,
                                                     std::int64_t min_per_class = 1);

}  // namespace rcap
RCAP_API_END
