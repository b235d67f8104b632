#pragma once

#include <cstdint>

#include "rcap/core/random_stream.hpp"

namespace rcap {

/// What a part of a data set is drawn for. The values are part of the results.
enum class SubsampleUse : std::int64_t {
  Recalls = -10,
  LongTail = 0,
  ImageFolderTest = 1,
  TableTest = 2,
  TrainSamples = 3,
};

/// Each use has a stream of its own: its value stands where other streams have the epoch.
[[nodiscard]] constexpr RandomStream subsample_stream(std::uint64_t seed,
                                                      SubsampleUse use) noexcept {
  return {seed, Purpose::Subsample, static_cast<std::int64_t>(use)};
}

}  // namespace rcap
