#pragma once

#include <cstdint>

#include "rcap/core/pruner.hpp"
#include "rcap/core/shard.hpp"

namespace rcap {

/// Note [The order over shards]
///
/// The order of an epoch sorts its samples by random bits (`training_order`), and position p goes
/// to rank p mod R. Nobody has all samples to sort, and nobody needs to: bits are random, so rank s
/// looks after the s-th part of them.
///
///  1. Every rank sends the ids of its samples to those that look after their bits.
///  2. These find the positions: the ranks before have so many bits, and among their own they
///  count.
///     They send back the rank that each sample goes to, one byte a sample.
///  3. The samples go there, with their weights, and are sorted.
///
/// Ids are sent as distances (`id_runs.hpp`), two bytes each, so an order takes five bytes for each
/// selected sample, and four more if there are weights.

/// This rank's part of an epoch, in the order of training.
/// @param selection  what is selected of the shard; ids count from its first
/// @return ids of the whole data set
[[nodiscard]] Selection part_of_order(const Shard& shard, const Selection& selection,
                                      std::uint64_t seed);

/// The same, but samples stay where they are, except for those that a rank has too many of: the
/// last of its own order go to ranks that have too few.
[[nodiscard]] Selection part_that_stays(const Shard& shard, const Selection& selection,
                                        std::uint64_t seed);

}  // namespace rcap
