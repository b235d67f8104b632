#pragma once

#include <cstdint>

#include "rcap/core/random_stream.hpp"

namespace rcap {

/// Random numbers for one sample, one after another. They depend only on (seed, epoch, sample), so
/// an augmented image is the same whichever thread makes it, and when.
class SampleRandom {
 public:
  SampleRandom(const RandomStream& stream, SampleId id) : stream_(stream.bits(id)) {}

  /// The next whole number in [0, bound), `bound` > 0.
  [[nodiscard]] int below(int bound) {
    return static_cast<int>(
        RandomStream::from_start(stream_).below(static_cast<std::uint64_t>(bound), drawn_++));
  }

 private:
  std::uint64_t stream_;
  SampleId drawn_ = 0;
};

}  // namespace rcap
