#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rcap/core/exchange.hpp"
#include "rcap/core/export.hpp"
#include "rcap/core/ids.hpp"

RCAP_API_BEGIN
namespace rcap {

/// A contiguous block of ids.
struct ShardRange {
  SampleId first_id = 0;
  std::int64_t sample_count = 0;
  bool operator==(const ShardRange&) const = default;
};

/// Where one rank's samples lie if `sample_count` samples are spread evenly over `rank_count`
/// ranks.
/// @throws InvalidArgument  a negative count, or a rank that does not exist
[[nodiscard]] ShardRange shard_range(std::int64_t sample_count, int rank_count, int rank);

/// The samples of a data set that this process has: all of them, or the block of ids that is its
/// part while other ranks have the others.
///
/// Everything that a selection needs to know of all samples goes through the functions below. If
/// the data set is here as a whole they return what they are given; otherwise all ranks call them,
/// in the same order, and get the same result. So a method is written once, for one process and for
/// many.
class Shard {
 public:
  /// Blocks begin at multiples of this: sets of samples are then cut between two words.
  static constexpr std::int64_t Grain = 64;

  /// A data set that is here as a whole.
  explicit Shard(std::int64_t sample_count) : range_{0, sample_count}, total_(sample_count) {}
  /// One rank's block; together the ranks have all of it, in their order. A block may be empty.
  /// @param exchange  must outlive this
  /// @throws InvalidArgument  on every rank: blocks that overlap, leave a gap or begin at other
  ///                          places than multiples of `Grain`, or another `sample_count` somewhere
  Shard(const ShardRange& range, std::int64_t sample_count, Exchange& exchange);

  [[nodiscard]] bool is_whole() const noexcept { return exchange_ == nullptr; }
  [[nodiscard]] SampleId first_id() const noexcept { return range_.first_id; }
  /// How many samples are here.
  [[nodiscard]] std::int64_t sample_count() const noexcept { return range_.sample_count; }
  /// How many samples there are.
  [[nodiscard]] std::int64_t total() const noexcept { return total_; }
  [[nodiscard]] int rank() const noexcept { return is_whole() ? 0 : exchange_->rank(); }
  [[nodiscard]] int rank_count() const noexcept { return is_whole() ? 1 : exchange_->size(); }
  /// The rank that has this sample, which must exist.
  [[nodiscard]] int owner_of(SampleId id) const noexcept;
  /// Where each rank's block begins, and behind the last one the end.
  [[nodiscard]] std::span<const SampleId> begins() const noexcept { return begins_; }
  /// Not for a whole data set.
  [[nodiscard]] Exchange& exchange() const noexcept { return *exchange_; }

  /// The sum over all ranks.
  [[nodiscard]] std::int64_t sum(std::int64_t here) const;
  /// The least of all ranks.
  [[nodiscard]] std::int64_t lowest(std::int64_t here) const;
  [[nodiscard]] bool any(bool here) const { return sum(here ? 1 : 0) > 0; }
  /// Replaces each number by its sum over all ranks.
  void add_up(std::span<std::int64_t> numbers) const;
  /// Replaces each number by the largest of all ranks.
  void raise(std::span<std::int64_t> numbers) const;
  /// @param numbers  >= 0
  void raise(std::span<float> numbers) const;
  /// The sums of what each rank has before each rank, and behind the last one of all.
  [[nodiscard]] std::vector<std::int64_t> begins_of(std::int64_t here) const;

 private:
  ShardRange range_;
  std::int64_t total_;
  Exchange* exchange_ = nullptr;
  std::vector<SampleId> begins_;
};

}  // namespace rcap
RCAP_API_END
