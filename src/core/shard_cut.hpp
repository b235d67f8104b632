#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/ranker.hpp"
#include "rcap/core/shard.hpp"
#include "rcap/core/workers.hpp"

namespace rcap {

/// The samples of a group that a draw has to rank exactly.
struct UndecidedGroup {
  std::span<RankedSample> here;  ///< those of this shard, in any order
  std::int64_t taken = 0;        ///< how many of all shards win
  // Found by `cut_over_shards`:
  std::size_t winners_here = 0;      ///< they then come first
  std::optional<double> best_loser;  ///< the key of the best that does not win, if there is one

  [[nodiscard]] std::span<const RankedSample> winners() const { return here.first(winners_here); }
};

/// Finds the best `taken` samples of each group, over all shards.
///
/// The interval of exact ranks in which the last winner lies is cut into 64 bins, which are counted
/// and added up over the shards, then the bin in which it lies, and so on, until few samples are
/// left; these are gathered. A round makes an interval 64 times smaller, so 1,000 groups of 100,000
/// samples take two rounds of 512 kB each and a gathering of less.
///
/// @param groups  equally many on every rank, with the same `taken`
void cut_over_shards(const Shard& shard, std::span<UndecidedGroup> groups, const Workers& workers);

}  // namespace rcap
