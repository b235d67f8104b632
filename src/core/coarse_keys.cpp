#include <bit>
#include <cstring>

#include "core/keys.hpp"
#include "core/vector_clones.hpp"
#include "rcap/core/weighted_draw.hpp"

namespace rcap {
namespace {

constexpr float Ln2 = 0x1.62e43p-1F;

/// ln(1 + f) for sqrt(1/2) - 1 <= f <= sqrt(2) - 1, relative error below 3e-7: a
/// minimax polynomial for the terms behind f - f^2 / 2, in Estrin's order, which
/// leaves the processor independent multiplications.
inline float log1p_near_zero(float f) {
  const float square = f * f;
  const float low = 0.33334246F - 0.24983266F * f;
  const float middle = 0.19924506F - 0.1713714F * f;
  const float high = 0.16024356F - 0.10191646F * f;
  const float tail = low + square * (middle + square * high);
  return f + square * (f * tail - 0.5F);
}

/// x = 2^exponent * mantissa with a mantissa between sqrt(1/2) and sqrt(2); x > 0, normal.
struct Split {
  float exponent;
  float mantissa;
};

inline Split split(float x) {
  constexpr std::int32_t SqrtHalf = 0x3f3504f3;
  const std::int32_t shifted = std::bit_cast<std::int32_t>(x) + (0x3f800000 - SqrtHalf);
  return {static_cast<float>((shifted >> 23) - 127),
          std::bit_cast<float>((shifted & 0x7fffff) + SqrtHalf)};
}

/// -ln(-ln(1 - u)) with u = (top + 1/2) / 2^31.
inline float coarse_noise(std::int32_t top) {
  const float u = (static_cast<float>(top) + 0.5F) * 0x1p-31F;
  const Split rest = split((static_cast<float>(0x7fffffff - top) + 0.5F) * 0x1p-31F);
  // Near 1 the difference 1 - u has lost the digits of u; there u itself is at hand.
  const float f = rest.exponent == 0.0F ? -u : rest.mantissa - 1.0F;
  const Split e = split(-(rest.exponent * Ln2 + log1p_near_zero(f)));
  return -(e.exponent * Ln2 + log1p_near_zero(e.mantissa - 1.0F));
}

/// Within this distance of either end 31 bits are too coarse for `NoiseError`.
constexpr std::int32_t End = 1 << 17;

inline bool is_near_an_end(std::int32_t top) {
  return static_cast<std::uint32_t>(top - End) > static_cast<std::uint32_t>(0x7fffffff - 2 * End);
}

/// The first 31 random bits of `count` neighbours.
RCAP_VECTOR_CLONES
void top_bits(std::uint64_t state, std::size_t count, std::int32_t* tops) {
  for (std::size_t i = 0; i < count; ++i) {
    tops[i] = static_cast<std::int32_t>(mix64(state) >> 33);
    state += RandomStream::Gamma;
  }
}

RCAP_VECTOR_CLONES
bool keys_of_block(const std::int32_t* tops, const float* losses, std::size_t count,
                   const KeyScale& scale, float* keys) {
  std::uint32_t near_an_end = 0;
  for (std::size_t i = 0; i < count; ++i) {
    near_an_end |= static_cast<std::uint32_t>(is_near_an_end(tops[i]));
    keys[i] = losses[i] * scale.per_loss + coarse_noise(tops[i]) * scale.per_nat;
  }
  return near_an_end != 0;
}

}  // namespace

void coarse_keys(const RandomStream& stream, SampleId first, const float* losses, std::size_t count,
                 const KeyScale& scale, float* keys) {
  std::int32_t tops[BlockSamples];
  top_bits(stream.state(first), count, tops);
  if (!keys_of_block(tops, losses, count, scale, keys)) return;
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_near_an_end(tops[i])) continue;
    const std::uint64_t bits = stream.bits(first + static_cast<SampleId>(i));
    const auto noise = static_cast<float>(race_key(0, 1, bits));
    keys[i] = losses[i] * scale.per_loss + noise * scale.per_nat;
  }
}

RCAP_VECTOR_CLONES
void bins_of_places(const float* places, std::size_t count, int bin_count, float unsure,
                    std::uint8_t* bins, std::uint8_t* doubts) {
  const float last_middle = static_cast<float>(bin_count) - 0.5F;
  for (std::size_t i = 0; i < count; ++i) {
    // End bins are open to one side: their outer edge is no edge to be unsure of. What is
    // not a number (an infinite key in a class without bins) must become the lowest.
    float place = places[i] > 0.5F ? places[i] : 0.5F;
    place = place < last_middle ? place : last_middle;
    const auto bin = static_cast<std::int32_t>(place);
    const float above_edge = place - static_cast<float>(bin);
    bins[i] = static_cast<std::uint8_t>(bin);
    doubts[i] = static_cast<std::uint8_t>((above_edge < unsure) | (above_edge > 1.0F - unsure));
  }
}

namespace {

/// Bit i of the result is byte i of 64, which is 0 or 1.
inline std::uint64_t pack_bits(const std::uint8_t* bytes) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    std::uint64_t eight;
    std::memcpy(&eight, bytes + 8 * i, sizeof eight);
    // The product brings byte j of the eight to bit 56 + j.
    bits |= ((eight * 0x0102040810204080U) >> 56) << (8 * i);
  }
  return bits;
}

}  // namespace

RCAP_VECTOR_CLONES
void compare_bins(const std::uint8_t* bins, const std::uint8_t* others, std::size_t count,
                  std::uint64_t* higher, std::uint64_t* equal) {
  for (std::size_t first = 0; first < count; first += 64) {
    std::uint8_t is_higher[64] = {};
    std::uint8_t is_equal[64] = {};
    const std::size_t length = count - first < 64 ? count - first : 64;
    for (std::size_t i = 0; i < length; ++i) {
      is_higher[i] = bins[first + i] > others[first + i];
      is_equal[i] = bins[first + i] == others[first + i];
    }
    higher[first / 64] = pack_bits(is_higher);
    equal[first / 64] = pack_bits(is_equal);
  }
}

namespace {

template <class Label>
inline void add_starts_of(const Label* labels, const float* starts, std::size_t count,
                          float* places) {
  for (std::size_t i = 0; i < count; ++i) places[i] += starts[labels[i]];
}

template <class Label>
inline void find_cells(const std::uint8_t* bins, const Label* labels, std::size_t count,
                       std::uint32_t row, std::uint32_t* cells) {
  for (std::size_t i = 0; i < count; ++i) cells[i] = bins[i] * row + labels[i];
}

}  // namespace

// The compiler makes clones of plain functions only, hence one by one.

RCAP_VECTOR_CLONES
void add_starts(const std::uint8_t* labels, const float* starts, std::size_t count, float* places) {
  add_starts_of(labels, starts, count, places);
}

RCAP_VECTOR_CLONES
void add_starts(const std::uint16_t* labels, const float* starts, std::size_t count,
                float* places) {
  add_starts_of(labels, starts, count, places);
}

RCAP_VECTOR_CLONES
void add_starts(const std::uint32_t* labels, const float* starts, std::size_t count,
                float* places) {
  add_starts_of(labels, starts, count, places);
}

RCAP_VECTOR_CLONES
void cells_of(const std::uint8_t* bins, const std::uint8_t* labels, std::size_t count,
              std::uint32_t row, std::uint32_t* cells) {
  find_cells(bins, labels, count, row, cells);
}

RCAP_VECTOR_CLONES
void cells_of(const std::uint8_t* bins, const std::uint16_t* labels, std::size_t count,
              std::uint32_t row, std::uint32_t* cells) {
  find_cells(bins, labels, count, row, cells);
}

RCAP_VECTOR_CLONES
void cells_of(const std::uint8_t* bins, const std::uint32_t* labels, std::size_t count,
              std::uint32_t row, std::uint32_t* cells) {
  find_cells(bins, labels, count, row, cells);
}

}  // namespace rcap
