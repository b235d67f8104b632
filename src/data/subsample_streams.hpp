#pragma once

#include <cstdint>

namespace rcap {

/// What tells the streams of `Purpose::Subsample` apart: they stand where others have the
/// epoch. The values are part of the results.
enum class SubsampleStream : std::int64_t {
  LongTail = 0,
  HeldOut = 1,
  TableTest = 2,
  TrainSamples = 3,
};

}  // namespace rcap
