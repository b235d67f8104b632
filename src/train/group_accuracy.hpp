#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rcap {

/// Counts right answers group by group; a group is a class unless the data set has other groups.
///
/// A group with fewer than `least_size` samples does not count: the accuracy of a single sample is
/// 0 or 1, which says nothing when it is the worst of all.
class GroupAccuracy {
 public:
  explicit GroupAccuracy(std::size_t group_count, std::int64_t least_size = 1)
      : least_size_(least_size), sizes_(group_count), correct_(group_count) {}

  void add(std::size_t group, bool correct) {
    ++sizes_[group];
    if (correct) ++correct_[group];
  }

  [[nodiscard]] std::span<const std::int64_t> sizes() const noexcept { return sizes_; }

  /// Right answers over samples, per group; NaN for a group without samples.
  [[nodiscard]] std::vector<double> by_group() const;
  /// The lowest of the groups that count.
  [[nodiscard]] double worst() const;
  /// The unweighted mean of the groups that count.
  [[nodiscard]] double average() const;
  /// The mean of the groups that count, with these weights.
  [[nodiscard]] double weighted(std::span<const std::int64_t> weights) const;
  /// Right answers over samples, regardless of groups.
  [[nodiscard]] double overall() const;

 private:
  /// `by_group`, NaN for groups that do not count.
  [[nodiscard]] std::vector<double> counting() const;

  std::int64_t least_size_;
  std::vector<std::int64_t> sizes_;
  std::vector<std::int64_t> correct_;
};

}  // namespace rcap
