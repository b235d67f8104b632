#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rcap/core/random_stream.hpp"
#include "rcap/core/sample_set.hpp"

namespace rcap {

/// Samples chosen by one number each, such as their losses: finite and >= 0.

/// Those below `bound`.
[[nodiscard]] SampleSet samples_below(std::span<const float> values, double bound);
/// Those above `bound`.
[[nodiscard]] SampleSet samples_above(std::span<const float> values, double bound);

/// Those at places `first` to `first + count - 1`, counted from 0, if the members of `candidates`
/// stand in ascending order of their values, and equal ones in random order.
/// @param count  at most what `candidates` has from `first` on
///
/// Four passes over the values, and one that draws where places fall on equal values.
[[nodiscard]] SampleSet samples_at_places(std::span<const float> values,
                                          const SampleSet& candidates, std::int64_t first,
                                          std::int64_t count, const RandomStream& stream,
                                          const Workers& workers);

/// Exact k-means in one dimension: Lloyd's algorithm from evenly spaced quantiles until no value
/// changes its group, at most 300 rounds.
/// @param values  at least one, in any order
/// @return where each group begins, ascending: group g holds the values from entry g to below entry
///         g + 1, the last one those from its entry on. An empty group begins where the next one
///         does, infinity where there is none
[[nodiscard]] std::vector<float> group_starts(std::vector<float> values, std::int64_t groups);

/// If fewer than `least` samples are selected, selects those of the highest values instead, ties to
/// the lower id: a rule that leaves nothing must not stop a training.
void select_at_least(std::int64_t least, std::span<const float> values, SampleSet& selected);

}  // namespace rcap
