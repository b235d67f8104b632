#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/hash64.hpp"

/// The layout of a filter's bytes, described in docs/select.md.
namespace rcap::filter_format {

static_assert(std::endian::native == std::endian::little,
              "filters are little-endian and are used as they lie");
static_assert(std::numeric_limits<float>::is_iec559 && sizeof(float) == 4);

inline constexpr std::array<char, 8> Magic = {'R', 'C', 'A', 'P', 'F', 'I', 'L', 'T'};
inline constexpr std::uint32_t Version = 1;
/// Samples between two counts of what is kept before.
inline constexpr std::uint64_t BlockSamples = 512;
inline constexpr std::uint64_t ChecksumBytes = 8;

struct Head {
  std::array<char, 8> magic = Magic;
  std::uint32_t version = Version;
  std::uint32_t has_weights = 0;
  std::uint64_t file_bytes = 0;
  std::int64_t epoch = 0;
  std::int64_t sample_count = 0;
  std::int64_t kept_count = 0;
  std::array<std::uint64_t, 2> reserved = {};
};
inline constexpr std::uint64_t HeadBytes = 64;
static_assert(sizeof(Head) == HeadBytes);
inline constexpr std::uint64_t MinFileBytes = HeadBytes + ChecksumBytes;

/// How many 64-bit numbers each part takes, in their order.
struct Parts {
  std::uint64_t words;
  std::uint64_t blocks;
  std::uint64_t weights;

  explicit Parts(const Head& head) noexcept
      : words(pieces(head.sample_count, 64)),
        blocks(head.has_weights == 0 ? 0 : pieces(head.sample_count, BlockSamples)),
        weights(head.has_weights == 0 ? 0 : pieces(head.kept_count, 2)) {}

  [[nodiscard]] std::uint64_t file_bytes() const noexcept {
    return HeadBytes + 8 * (words + blocks + weights) + ChecksumBytes;
  }

 private:
  static std::uint64_t pieces(std::int64_t count, std::uint64_t size) noexcept {
    return (static_cast<std::uint64_t>(count) + size - 1) / size;
  }
};

}  // namespace rcap::filter_format
