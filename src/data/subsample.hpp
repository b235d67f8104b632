#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rcap/core/class_index.hpp"
#include "rcap/core/random_stream.hpp"

namespace rcap {

/// Which samples to keep so that class sizes fall exponentially from the first class to the
/// last: n_j = n_max * factor^(-j / (C - 1)), rounded down, at least 1.
///
/// n_max is the largest number for which every class has enough samples: for balanced data, the
/// size of a class. So 5,000 samples in each of 10 classes and factor 100 give 5000, 2997, 1796,
/// ... 50. The members of a class are drawn uniformly; they depend only on the seed.
///
/// @param labels       one per sample, 0 <= label < class_count; every class occurs
/// @param factor       the size of the first class over that of the last; finite, >= 1. 1 makes all
///                     classes as large as the smallest one
/// @return positions in ascending order
/// @throws InvalidArgument  if a condition above is not met
[[nodiscard]] std::vector<SampleId> long_tailed(std::span<const ClassId> labels,
                                                ClassId class_count, double factor,
                                                std::uint64_t seed);

/// Which samples to keep so that `count` are left and classes keep their proportions, each with at
/// least one sample. The members of a class are drawn uniformly; they depend only on the seed.
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

/// What a part of a data set is drawn for. Each use has its own stream of random numbers: its value
/// replaces the epoch of other streams. The values affect results.
enum class SubsampleUse : std::int64_t {
  Recalls = -10,
  LongTail = 0,
  ImageFolderTest = 1,
  TableTest = 2,
  TrainSamples = 3,
  HeldOut = 4,
  LabelNoise = 5,  ///< which labels are changed
  NoisyLabel = 6,  ///< to which class
};

/// The random numbers for a use.
[[nodiscard]] RandomStream subsample_stream(std::uint64_t seed, SubsampleUse use) noexcept;

/// Ids in ascending order.
struct HeldOutSplit {
  std::vector<SampleId> kept;
  std::vector<SampleId> held_out;
};

/// Holds out one in `one_in` samples of every class, rounded down, but at least one of a class that
/// has two. A class of one sample keeps it: what is never trained on cannot be learnt. The members
/// of a class are drawn uniformly; they depend only on seed and use.
/// @param one_in  at least 2
[[nodiscard]] HeldOutSplit hold_out(const ClassIndex& classes, std::int64_t one_in,
                                    std::uint64_t seed, SubsampleUse use);

/// The same for any fraction of every class, rounded to the nearest number: at least one sample of
/// a class that has two, and never the whole class.
/// @param part  above 0 and below 1
/// @throws InvalidArgument  if it is not
[[nodiscard]] HeldOutSplit hold_out_part(const ClassIndex& classes, double part, std::uint64_t seed,
                                         SubsampleUse use);

}  // namespace rcap
