#pragma once

#include <cstddef>
#include <cstdint>

namespace rcap {

/// Contiguous pieces of [0, count), each but the last of `length`: the unit of work of
/// a pass over the data. The pieces depend on the data only, never on the threads, so
/// sums made piece by piece are the same for any number of them.
struct Chunks {
  std::int64_t count;
  std::int64_t length;

  [[nodiscard]] std::int64_t size() const { return (count + length - 1) / length; }
  [[nodiscard]] std::int64_t begin(std::int64_t chunk) const { return chunk * length; }
  [[nodiscard]] std::int64_t end(std::int64_t chunk) const {
    return chunk + 1 < size() ? (chunk + 1) * length : count;
  }
};

/// A chunk of samples is worked on in blocks of at most so many: their keys, bins and bits
/// then stay in the cache.
inline constexpr std::size_t BlockSamples = 1024;

}  // namespace rcap
