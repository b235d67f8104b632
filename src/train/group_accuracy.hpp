#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rcap {

/// Counts right answers group by group; a group is a class unless the data set says more.
class GroupAccuracy {
 public:
  explicit GroupAccuracy(std::size_t group_count) : sizes_(group_count), correct_(group_count) {}

  void add(std::size_t group, bool correct) {
    ++sizes_[group];
    if (correct) ++correct_[group];
  }

  [[nodiscard]] std::span<const std::int64_t> sizes() const noexcept { return sizes_; }

  /// Right answers over samples, per group; NaN for a group without samples.
  [[nodiscard]] std::vector<double> by_group() const;
  /// The lowest of the groups that have samples.
  [[nodiscard]] double worst() const;
  /// The unweighted mean of the groups that have samples.
  [[nodiscard]] double average() const;
  /// The mean of the groups that have samples, each weighing as much as given.
  [[nodiscard]] double weighted(std::span<const std::int64_t> weights) const;
  /// Right answers over samples, groups aside.
  [[nodiscard]] double overall() const;

 private:
  std::vector<std::int64_t> sizes_;
  std::vector<std::int64_t> correct_;
};

}  // namespace rcap
