#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rcap/core/class_index.hpp"
#include "rcap/core/random_stream.hpp"

namespace rcap::cli {

enum class ClassProfile {
  Balanced,    ///< sizes differ by at most one
  LongTailed,  ///< sizes fall exponentially; the largest class has 100 times the smallest
};

enum class LabelOrder { Shuffled, Sorted };

/// Sizes of `class_count` classes that add up to `sample_count`, each at least 1.
/// @throws InvalidArgument  fewer samples than classes, or fewer than one class
[[nodiscard]] std::vector<std::int64_t> make_class_sizes(std::int64_t sample_count,
                                                         ClassId class_count, ClassProfile profile);

/// Samples of classes of these sizes, in the given order; a pure function of the seed.
/// Holds the labels twice for a moment.
[[nodiscard]] std::shared_ptr<const ClassIndex> make_classes(
    std::span<const std::int64_t> class_sizes, LabelOrder order, std::uint64_t seed);

/// Losses like those of a network in mid-training: exponentially distributed with a class mean
/// between 0.1 and 2, at most 10. A pure function of (seed, epoch, sample).
class SyntheticLosses {
 public:
  SyntheticLosses(std::shared_ptr<const ClassIndex> classes, std::uint64_t seed);

  /// Writes the losses of these samples in `epoch` (-1: before training), in the order of the ids.
  void fill(std::span<const SampleId> ids, std::int64_t epoch, std::vector<float>& losses) const;

 private:
  std::shared_ptr<const ClassIndex> classes_;
  std::uint64_t seed_;
  std::vector<double> class_means_;
};

}  // namespace rcap::cli
