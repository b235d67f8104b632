#pragma once

#include "core/keys.hpp"
#include "core/ranker.hpp"

namespace rcap {

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
