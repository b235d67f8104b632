#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/hash64.hpp"
#include "rcap/core/sample_set.hpp"

/// What the writer and the reader of state files share. The layout is described in
/// docs/state_format.md.
namespace rcap::state_format {

static_assert(std::endian::native == std::endian::little,
              "state files are little-endian and are read and written without conversion");
static_assert(std::numeric_limits<float>::is_iec559 && sizeof(float) == 4);
static_assert(std::numeric_limits<double>::is_iec559 && sizeof(double) == 8);

inline constexpr std::array<char, 8> Magic = {'R', 'C', 'A', 'P', 'S', 'T', 'A', 'T'};
inline constexpr std::uint32_t Version = 4;
inline constexpr std::uint64_t HeadBytes = 24;
inline constexpr std::uint64_t ChecksumBytes = 8;
/// Head, empty method, three numbers, no options, checksum.
inline constexpr std::uint64_t MinFileBytes = HeadBytes + 4 + 24 + 4 + ChecksumBytes;
inline constexpr std::size_t MaxStringBytes = 65535;

enum class FieldType : std::uint32_t {
  Number = 1,
  Losses = 2,
  Samples = 3,
  Chances = 4,
  Weights = 5
};

struct Head {
  std::array<char, 8> magic = Magic;
  std::uint32_t version = Version;
  std::uint32_t reserved = 0;
  std::uint64_t file_bytes = 0;
};
static_assert(sizeof(Head) == HeadBytes);

/// The first value that no loss or weight may have, or the length.
template <class Real>
std::size_t first_bad_number(const std::vector<Real>& values) {
  const auto bad = std::find_if(values.begin(), values.end(), [](Real value) {
    return !(value >= 0 && value <= std::numeric_limits<Real>::max());
  });
  return static_cast<std::size_t>(bad - values.begin());
}

inline bool has_bits_past_end(const SampleSet& set) {
  const auto used = set.sample_count() % 64;
  return used != 0 && (set.words().back() >> used) != 0;
}

}  // namespace rcap::state_format
