#include "core/bins.hpp"

#include <cstring>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/vector_clones.hpp"

namespace rcap {

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

template <class Label>
void add_starts(const Label* labels, const float* starts, std::size_t count, float* places) {
  // Four labels in one read and four places in one addition: what takes the time here is how many
  // reads and writes a processor does at a time.
  using Four [[gnu::vector_size(16)]] = float;
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    Label four[4];
    std::memcpy(four, labels + i, sizeof four);
    Four place;
    std::memcpy(&place, places + i, sizeof place);
    place += Four{starts[four[0]], starts[four[1]], starts[four[2]], starts[four[3]]};
    std::memcpy(places + i, &place, sizeof place);
  }
  for (; i < count; ++i) places[i] += starts[labels[i]];
}

template void add_starts(const std::uint8_t*, const float*, std::size_t, float*);
template void add_starts(const std::uint16_t*, const float*, std::size_t, float*);
template void add_starts(const std::uint32_t*, const float*, std::size_t, float*);

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

namespace {

template <class Count>
inline void find_deciding(const Count* histogram, std::size_t row, int bin_count,
                          std::span<const std::int64_t> counts, std::uint8_t* deciding,
                          Count* higher) {
  const std::size_t groups = counts.size();
  for (std::size_t g = 0; g < groups; ++g) {
    deciding[g] = static_cast<std::uint8_t>(bin_count - 1);
    higher[g] = 0;
  }
  // Row by row for all groups at once: a walk down one column would wait at every step.
  for (int bin = bin_count - 1; bin > 0; --bin) {
    const Count* in_bin = histogram + static_cast<std::size_t>(bin) * row;
    for (std::size_t g = 0; g < groups; ++g) {
      const Count with_this = higher[g] + in_bin[g];
      const bool goes_on = (deciding[g] == bin) & (with_this < counts[g]);
      higher[g] = goes_on ? with_this : higher[g];
      deciding[g] = static_cast<std::uint8_t>(deciding[g] - goes_on);
    }
  }
}

}  // namespace

RCAP_VECTOR_CLONES
void find_deciding_bins(const std::uint32_t* histogram, std::size_t row, int bin_count,
                        std::span<const std::int64_t> counts, std::uint8_t* deciding,
                        std::uint32_t* higher) {
  find_deciding(histogram, row, bin_count, counts, deciding, higher);
}

void find_deciding_bins(const std::int64_t* histogram, std::size_t row, int bin_count,
                        std::span<const std::int64_t> counts, std::uint8_t* deciding,
                        std::int64_t* higher) {
  find_deciding(histogram, row, bin_count, counts, deciding, higher);
}

namespace {

template <class Label>
inline void find_cells(const std::uint8_t* bins, const Label* labels, std::size_t count,
                       std::uint32_t row, std::uint32_t* cells) {
  for (std::size_t i = 0; i < count; ++i) cells[i] = bins[i] * row + labels[i];
}

}  // namespace

// The compiler clones plain functions only, no templates: hence one for each type.

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
