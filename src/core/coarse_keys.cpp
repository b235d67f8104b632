#include <bit>
#include <cstring>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/keys.hpp"
#include "core/vector_clones.hpp"
#include "rcap/core/weighted_draw.hpp"

namespace rcap {
namespace {

constexpr float Ln2 = 0x1.62e43p-1F;

/// The bits of x, a normal number > 0, counted in units of the last place.
inline std::int32_t bits_of(float x) { return std::bit_cast<std::int32_t>(x); }

/// -ln(1 - u), u = (top + 1/2) / 2^31: relative error below 2.1e-3.
inline float coarse_exponential(std::int32_t top) {
  constexpr std::int32_t One = 0x3f800000;
  constexpr std::int32_t SqrtHalf = 0x3f3504f3;
  const float u = (static_cast<float>(top) + 0.5F) * 0x1p-31F;
  const float rest = (static_cast<float>(0x7fffffff - top) + 0.5F) * 0x1p-31F;
  // rest = 2^exponent * mantissa with a mantissa between sqrt(1/2) and sqrt(2).
  const std::int32_t shifted = bits_of(rest) + (One - SqrtHalf);
  const std::int32_t exponent = (shifted >> 23) - 127;
  const float mantissa = std::bit_cast<float>((shifted & 0x7fffff) + SqrtHalf);
  // Near 1 the difference 1 - u has lost the digits of u; there u itself is at hand.
  const float f = exponent == 0 ? -u : mantissa - 1.0F;
  const float log1p = f * (0.99975828F + f * (0.32372241F * f - 0.52375441F));
  return -(static_cast<float>(exponent) * Ln2 + log1p);
}

/// ln(x) of a normal number > 0: absolute error below 5e-4. Its bits, read as a whole
/// number, already are a logarithm drawn with straight lines between the powers of two; a
/// polynomial in the mantissa bends the lines.
inline float coarse_log(float x) {
  const float lines = static_cast<float>(bits_of(x)) * (Ln2 * 0x1p-23F) - 127 * Ln2;
  const float f = std::bit_cast<float>((bits_of(x) & 0x7fffff) | 0x3f800000) - 1.0F;
  return lines + (0.00044157F + f * (0.29034589F + f * (0.1096897F * f - 0.40003559F)));
}

/// Within this distance of either end 31 bits are too coarse for `NoiseError`.
constexpr std::int32_t End = 1 << 12;

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
    const float noise = -coarse_log(coarse_exponential(tops[i]));
    keys[i] = losses[i] * scale.per_loss + noise * scale.per_nat;
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
void bins_of_places(const float* places, std::size_t count, int bin_count, std::uint8_t* bins) {
  const float last_middle = static_cast<float>(bin_count) - 0.5F;
  for (std::size_t i = 0; i < count; ++i) {
    // What is not a number (an infinite key in a class without bins) must become the lowest.
    float place = places[i] > 0.5F ? places[i] : 0.5F;
    place = place < last_middle ? place : last_middle;
    bins[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(place));
  }
}

namespace {

/// Bit i of the result is byte i of 64, which is 0 or 1.
inline std::uint64_t pack_bits(const std::uint8_t* bytes) {
  std::uint64_t bits = 0;
#ifdef __SSE2__
  for (int i = 0; i < 4; ++i) {
    const __m128i sixteen = _mm_load_si128(reinterpret_cast<const __m128i*>(bytes) + i);
    const auto mask = static_cast<std::uint16_t>(_mm_movemask_epi8(_mm_slli_epi16(sixteen, 7)));
    bits |= std::uint64_t{mask} << (16 * i);
  }
  return bits;
#else
  for (std::size_t i = 0; i < 8; ++i) {
    std::uint64_t eight;
    std::memcpy(&eight, bytes + 8 * i, sizeof eight);
    // The product brings byte j of the eight to bit 56 + j.
    bits |= ((eight * 0x0102040810204080U) >> 56) << (8 * i);
  }
  return bits;
#endif
}

}  // namespace

RCAP_VECTOR_CLONES
void compare_bins(const std::uint8_t* bins, const std::uint8_t* lowest, std::uint8_t width,
                  std::size_t count, std::uint64_t* higher, std::uint64_t* within) {
  for (std::size_t first = 0; first < count; first += 64) {
    alignas(16) std::uint8_t is_higher[64] = {};
    alignas(16) std::uint8_t is_within[64] = {};
    const std::size_t length = count - first < 64 ? count - first : 64;
    for (std::size_t i = 0; i < length; ++i) {
      const std::uint8_t bin = bins[first + i];
      const auto above = static_cast<std::uint8_t>(bin - lowest[first + i]);
      const bool reaches = bin >= lowest[first + i];
      is_higher[i] = reaches & (above >= width);
      is_within[i] = reaches & (above < width);
    }
    higher[first / 64] = pack_bits(is_higher);
    within[first / 64] = pack_bits(is_within);
  }
}

RCAP_VECTOR_CLONES
void bins_within(const std::uint8_t* bins, std::size_t count, std::uint8_t lowest,
                 std::uint8_t highest, std::uint64_t* within) {
  const auto width = static_cast<std::uint8_t>(highest - lowest);
  for (std::size_t first = 0; first < count; first += 64) {
    alignas(16) std::uint8_t is_within[64] = {};
    const std::size_t length = count - first < 64 ? count - first : 64;
    for (std::size_t i = 0; i < length; ++i) {
      is_within[i] = static_cast<std::uint8_t>(bins[first + i] - lowest) <= width;
    }
    within[first / 64] = pack_bits(is_within);
  }
}

RCAP_VECTOR_CLONES
void find_deciding_bins(const std::uint32_t* histogram, std::size_t row, int bin_count,
                        std::span<const std::int64_t> counts, std::uint8_t* deciding,
                        std::uint32_t* higher) {
  const std::size_t groups = counts.size();
  for (std::size_t g = 0; g < groups; ++g) {
    deciding[g] = static_cast<std::uint8_t>(bin_count - 1);
    higher[g] = 0;
  }
  // Row by row for all groups at once: a walk down one column would wait at every step.
  for (int bin = bin_count - 1; bin > 0; --bin) {
    const std::uint32_t* in_bin = histogram + static_cast<std::size_t>(bin) * row;
    for (std::size_t g = 0; g < groups; ++g) {
      const std::uint32_t with_this = higher[g] + in_bin[g];
      const bool goes_on = (deciding[g] == bin) & (with_this < counts[g]);
      higher[g] = goes_on ? with_this : higher[g];
      deciding[g] = static_cast<std::uint8_t>(deciding[g] - goes_on);
    }
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

void add_starts(const std::uint8_t* labels, const float* starts, std::size_t count, float* places) {
  add_starts_of(labels, starts, count, places);
}

void add_starts(const std::uint16_t* labels, const float* starts, std::size_t count,
                float* places) {
  add_starts_of(labels, starts, count, places);
}

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
