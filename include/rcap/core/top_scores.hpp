#pragma once

#include <cstdint>
#include <span>

#include "rcap/core/export.hpp"
#include "rcap/core/sample_set.hpp"

RCAP_API_BEGIN
namespace rcap {

/// The `count` samples of highest score; among equal scores those of lower id.
///
/// @param scores  one per sample, none of them NaN
/// @throws InvalidArgument  `count` out of range or a NaN (names the sample)
///
/// Three passes over the scores; besides the result, a megabyte for two tables of counts.
[[nodiscard]] SampleSet top_scores(std::span<const float> scores, std::int64_t count);

}  // namespace rcap
RCAP_API_END
