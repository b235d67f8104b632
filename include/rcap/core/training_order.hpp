#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rcap/core/export.hpp"
#include "rcap/core/ids.hpp"

RCAP_API_BEGIN
namespace rcap {

struct Selection;

/// The order in which an epoch visits the given samples: sorted by a random number of
/// (seed, epoch, sample). It is one random permutation of the whole data set with the
/// other samples left out, so two methods that share a seed differ in what they select
/// and not in the order of what they share.
///
/// O(ids) time; hardly any memory besides the result.
[[nodiscard]] std::vector<SampleId> training_order(std::span<const SampleId> ids,
                                                   std::uint64_t seed, std::int64_t epoch);

/// A selection, ids and weights, in training order.
[[nodiscard]] Selection in_training_order(const Selection& selection, std::uint64_t seed);

/// The same into a selection whose memory is reused.
void put_in_training_order(const Selection& selection, std::uint64_t seed, Selection& ordered);

}  // namespace rcap
RCAP_API_END
