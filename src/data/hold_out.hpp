#pragma once

#include <cstdint>
#include <vector>

#include "data/subsample_stream.hpp"
#include "rcap/core/class_index.hpp"

namespace rcap {

/// Ids in ascending order.
struct HeldOutSplit {
  std::vector<SampleId> kept;
  std::vector<SampleId> held_out;
};

/// Holds out one in `one_in` of every class, rounded down, but at least one of a class that has
/// two. A class of one sample keeps it: what is never trained on cannot be learnt. The members of
/// a class are drawn uniformly, by seed and use alone.
/// @param one_in  at least 2
[[nodiscard]] HeldOutSplit hold_out(const ClassIndex& classes, std::int64_t one_in,
                                    std::uint64_t seed, SubsampleUse use);

}  // namespace rcap
