#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/keys.hpp"

namespace rcap {

/// The exact rank of a sample in its group. Keys can be equal; bits never are.
struct RankedSample {
  double key;          ///< larger is better
  std::uint64_t bits;  ///< then smaller is better
  std::uint32_t id;

  bool operator<(const RankedSample& other) const {
    return key != other.key ? key > other.key : bits < other.bits;
  }
};

/// What `Draw` asks of the order in which samples win.
///
/// A ranker knows this order in two forms. The exact form, `rank`, decides. The coarse form,
/// `find_bins`, is fast and only has to agree with it where bins are far apart:
///
///     Of two samples of one group whose bins differ by more than `Neighbours`,
///     the one in the higher bin ranks before the other.
///
/// Everything else about bins is a matter of speed. They may be laid out anyhow and differ
/// between machines; the winners are those of a full sort by exact ranks.
///
/// `Neighbours` (static constexpr int) is 0 where bins are cut from the exact order, and 1
/// where they come from keys that are off by less than half a bin.
///
/// Exact ranks are a pure function of the sample. Bins are one too, until `aim_lower` moves
/// them. All functions but `aim_lower` are called from several threads at a time.
///
///  - `bin_count()`: 1 to 256, always the same.
///  - `find_bins(first, count, bins)`: writes the bins, 0 to `bin_count() - 1`, of the samples
///    from `first` on. `count` is at most `BlockSamples`.
///  - `rank(ids, ranked)`: appends the exact ranks of these samples, in their order.
///  - `most_are_lowest()`: whether most samples lie in bin 0. The first pass then does not
///    count it. Never changes a result.
///  - `all_lie_at_one_end(group, count)`: whether all or none of this group win, and
///    `find_bins` puts its members into the highest bin, or into bin 0 if none do. True
///    settles the group: none of it is ranked. False is always right.
///  - `aim_lower(lowest_open, counts)`: told the lowest bin of each group that has to be
///    ranked exactly, may move bins so that fewer samples are. True makes `Draw` begin
///    again, so it must be false in the end; false is always right.
template <class R>
concept Ranker = requires(R& ranker, const R& ranks, SampleId first, std::size_t size,
                          std::int64_t count, std::uint8_t* bins,
                          std::span<const std::uint32_t> ids, std::vector<RankedSample>& ranked,
                          std::span<const std::uint8_t> lowest_open,
                          std::span<const std::int64_t> counts) {
  requires std::same_as<decltype(R::Neighbours), const int> && R::Neighbours >= 0;
  { ranks.bin_count() } -> std::same_as<int>;
  { ranks.find_bins(first, size, bins) } -> std::same_as<void>;
  { ranks.rank(ids, ranked) } -> std::same_as<void>;
  { ranks.most_are_lowest() } -> std::same_as<bool>;
  { ranks.all_lie_at_one_end(size, count) } -> std::same_as<bool>;
  { ranker.aim_lower(lowest_open, counts) } -> std::same_as<bool>;
};

/// Ranks by the random bits alone: every member of a group is equally likely to win. Bins
/// are the leading bits, so they are exact and cover everything: there is nothing to aim.
class UniformRanker {
 public:
  UniformRanker(const RandomStream& stream, int bin_bits) : stream_(stream), bin_bits_(bin_bits) {}

  static constexpr int Neighbours = 0;
  [[nodiscard]] static bool most_are_lowest() { return false; }
  [[nodiscard]] static bool all_lie_at_one_end(std::size_t, std::int64_t) { return false; }
  static bool aim_lower(std::span<const std::uint8_t>, std::span<const std::int64_t>) {
    return false;
  }
  [[nodiscard]] int bin_count() const { return 1 << bin_bits_; }

  void find_bins(SampleId first, std::size_t count, std::uint8_t* bins) const {
    std::uint64_t bits[BlockSamples];
    stream_bits(stream_, first, count, bits);
    const auto top = static_cast<std::uint64_t>(bin_count() - 1);
    for (std::size_t i = 0; i < count; ++i) {
      bins[i] = static_cast<std::uint8_t>(top - ((bits[i] >> 1) >> (63 - bin_bits_)));
    }
  }

  void rank(std::span<const std::uint32_t> ids, std::vector<RankedSample>& ranked) const {
    for (const std::uint32_t id : ids) ranked.push_back({0.0, stream_.bits(id), id});
  }

 private:
  RandomStream stream_;
  int bin_bits_;
};

}  // namespace rcap
