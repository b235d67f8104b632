#pragma once

#include <cstdint>
#include <span>

#include "rcap/core/export.hpp"
#include "rcap/core/sample_set.hpp"
#include "rcap/core/shard.hpp"

RCAP_API_BEGIN
namespace rcap {

/// The `count` samples of highest score; among equal scores those of lower id.
///
/// Of samples with lengths: in that order, the prefix whose tokens are nearest to `count`, the
/// shorter of two that are equally near, but at least one sample unless that is 0.
///
/// @param scores   one per sample, none of them NaN
/// @param lengths  one per sample; empty: each counts as one token
/// @throws InvalidArgument  `count` out of range or a NaN (names the sample)
///
/// Three passes over the scores; besides the result, a megabyte for two tables of counts.
[[nodiscard]] SampleSet top_scores(std::span<const float> scores, std::int64_t count,
                                   std::span<const std::uint32_t> lengths = {});
/// The part of them that one shard has; the tables of counts are added up over all shards.
/// @param scores   of the shard's samples
/// @param lengths  empty, unless the shard is everything
[[nodiscard]] SampleSet top_scores(const Shard& shard, std::span<const float> scores,
                                   std::int64_t count, std::span<const std::uint32_t> lengths = {});

}  // namespace rcap
RCAP_API_END
