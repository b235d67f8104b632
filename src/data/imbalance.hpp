#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rcap/core/ids.hpp"

namespace rcap {

/// Which samples to keep so that class sizes fall exponentially from the first class to the
/// last: n_j = n_max * factor^(-j / (C - 1)), rounded down, at least 1.
///
/// n_max is the largest number for which every class has enough: for balanced data the size
/// of a class. So 5,000 samples in each of 10 classes and factor 100 give 5000, 2997, 1796,
/// ... 50. The members of a class are drawn uniformly, by the seed alone.
///
/// @param labels       one per sample, 0 <= label < class_count; every class occurs
/// @param factor       the size of the first class over that of the last; finite, >= 1.
///                     1 makes all classes as large as the smallest one
/// @return positions in ascending order
/// @throws InvalidArgument  if a condition above is not met
[[nodiscard]] std::vector<SampleId> long_tailed(std::span<const ClassId> labels,
                                                ClassId class_count, double factor,
                                                std::uint64_t seed);

/// Which samples to keep so that `count` are left and classes keep their part of the whole, each
/// at least one sample. The members of a class are drawn uniformly, by the seed alone.
///
/// @param labels  one per sample, 0 <= label < class_count
/// @param count   at least `class_count`, at most all samples
/// @return positions in ascending order
/// @throws InvalidArgument  if a condition above is not met
[[nodiscard]] std::vector<SampleId> proportional_part(std::span<const ClassId> labels,
                                                      ClassId class_count, std::int64_t count,
                                                      std::uint64_t seed);

/// The class sizes that `long_tailed` draws.
/// @throws InvalidArgument  an empty class, or a factor that is below 1 or not finite
[[nodiscard]] std::vector<std::int64_t> long_tailed_sizes(std::span<const std::int64_t> class_sizes,
                                                          double factor);

}  // namespace rcap
