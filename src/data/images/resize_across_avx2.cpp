#include "data/images/resize_across_avx2.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <cstring>

#include <immintrin.h>
#define RCAP_AVX2 __attribute__((target("avx2")))
#endif

#include "rcap/core/error.hpp"

namespace rcap::avx2 {
namespace {

/// Bits of the low part of a weight.
constexpr int LowBits = 11;

std::int32_t two_shorts(std::int32_t first, std::int32_t second) {
  return static_cast<std::int32_t>((static_cast<std::uint32_t>(first) & 0xFFFFU) |
                                   (static_cast<std::uint32_t>(second) << 16));
}

}  // namespace

void make_tap_pairs(const ResizeWeights& weights, std::vector<std::int32_t>& pairs) {
  constexpr std::int32_t LowMask = (1 << LowBits) - 1;
  pairs.clear();
  for (std::size_t x = 0; x < weights.size(); ++x) {
    const std::int32_t* const weight = weights.of(x);
    for (int k = 0; k < weights.taps(); k += 2) {
      const std::int32_t first = weight[k];
      const std::int32_t second = k + 1 < weights.taps() ? weight[k + 1] : 0;
      pairs.push_back(two_shorts(first & LowMask, second & LowMask));
      pairs.push_back(two_shorts(first >> LowBits, second >> LowBits));
    }
  }
}

#ifdef RCAP_AVX2

namespace {

/// Two pixels of 16 bytes from each of two rows, channel by channel, widened to 16 bits: from
/// the bytes 0 to 5 the pixels 0 and 1, or from 6 to 11 the pixels 2 and 3.
RCAP_AVX2 inline __m256i pairing(int first) {
  const auto at = [first](int byte) { return static_cast<char>(first + byte); };
  return _mm256_broadcastsi128_si256(_mm_setr_epi8(at(0), -1, at(3), -1, at(1), -1, at(4), -1,
                                                   at(2), -1, at(5), -1, -1, -1, -1, -1));
}

RCAP_AVX2 inline __m256i load(const std::uint8_t* upper, const std::uint8_t* lower) {
  const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(upper));
  const __m128i second = _mm_loadu_si128(reinterpret_cast<const __m128i*>(lower));
  return _mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1);
}

/// The sums of two rows: their low and high parts.
struct Sums {
  __m256i low;
  __m256i high;
};

RCAP_AVX2 inline void add(Sums& sums, __m256i pixels, __m256i low, __m256i high) {
  sums.low = _mm256_add_epi32(sums.low, _mm256_madd_epi16(pixels, low));
  sums.high = _mm256_add_epi32(sums.high, _mm256_madd_epi16(pixels, high));
}

RCAP_AVX2 inline __m256i total(const Sums& sums) {
  const __m256i sum = _mm256_add_epi32(sums.low, _mm256_slli_epi32(sums.high, LowBits));
  return _mm256_srai_epi32(sum, ResizeWeights::Bits);
}

inline void put(int pixel, std::uint8_t* to) { std::memcpy(to, &pixel, sizeof pixel); }

/// `Pairs` is the number of tap pairs if it is known at compile time, otherwise 0.
template <std::size_t Pairs>
RCAP_AVX2 void resize_four(const std::array<const std::uint8_t*, RowsTogether>& source,
                           const ResizeWeights& weights, const std::int32_t* pairs,
                           std::size_t pair_count, std::array<std::uint8_t*, RowsTogether> to) {
  if (Pairs > 0) pair_count = Pairs;
  const __m256i half = _mm256_set1_epi32(1 << (ResizeWeights::Bits - 1));
  const __m256i zero = _mm256_setzero_si256();
  const __m256i pairing_of[2] = {pairing(0), pairing(6)};
  const std::size_t size = weights.size();
  for (std::size_t x = 0; x < size; ++x) {
    std::ptrdiff_t at = std::ptrdiff_t{weights.first(x)} * 3;
    Sums above{half, zero};
    Sums below{half, zero};
    __m256i pixels_above = zero;
    __m256i pixels_below = zero;
#pragma GCC unroll 4
    for (std::size_t pair = 0; pair < pair_count; ++pair, pairs += 2) {
      if (pair % 2 == 0) {  // 16 bytes hold two pairs
        pixels_above = load(source[0] + at, source[1] + at);
        pixels_below = load(source[2] + at, source[3] + at);
        at += 12;
      }
      const __m256i low = _mm256_set1_epi32(pairs[0]);
      const __m256i high = _mm256_set1_epi32(pairs[1]);
      add(above, _mm256_shuffle_epi8(pixels_above, pairing_of[pair % 2]), low, high);
      add(below, _mm256_shuffle_epi8(pixels_below, pairing_of[pair % 2]), low, high);
    }
    // Clipped to 0 and 255 while they are packed: rows 0 and 2, then rows 1 and 3.
    const __m256i words = _mm256_packs_epi32(total(above), total(below));
    const __m256i bytes = _mm256_packus_epi16(words, words);
    const __m128i even = _mm256_castsi256_si128(bytes);
    const __m128i odd = _mm256_extracti128_si256(bytes, 1);
    put(_mm_cvtsi128_si32(even), to[0]);
    put(_mm_cvtsi128_si32(odd), to[1]);
    put(_mm_extract_epi32(even, 1), to[2]);
    put(_mm_extract_epi32(odd, 1), to[3]);
    for (std::uint8_t*& row : to) row += 3;
  }
}

}  // namespace

bool available() noexcept { return __builtin_cpu_supports("avx2") != 0; }

void resize_rows(const std::array<const std::uint8_t*, RowsTogether>& source,
                 const ResizeWeights& weights, const std::vector<std::int32_t>& pairs,
                 const std::array<std::uint8_t*, RowsTogether>& result) {
  const auto pair_count = static_cast<std::size_t>((weights.taps() + 1) / 2);
  switch (pair_count) {
    case 1:
      return resize_four<1>(source, weights, pairs.data(), 1, result);
    case 2:
      return resize_four<2>(source, weights, pairs.data(), 2, result);
    case 3:
      return resize_four<3>(source, weights, pairs.data(), 3, result);
    case 4:
      return resize_four<4>(source, weights, pairs.data(), 4, result);
    default:
      return resize_four<0>(source, weights, pairs.data(), pair_count, result);
  }
}

#else

bool available() noexcept { return false; }

void resize_rows(const std::array<const std::uint8_t*, RowsTogether>&, const ResizeWeights&,
                 const std::vector<std::int32_t>&, const std::array<std::uint8_t*, RowsTogether>&) {
  throw InternalError("resize_rows: called for a processor without AVX2");
}

#endif

}  // namespace rcap::avx2
