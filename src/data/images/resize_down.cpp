#include "data/images/resize_down.hpp"

#include <algorithm>

#include "core/vector_clones.hpp"

namespace rcap {
namespace {

constexpr std::int32_t Half = 1 << (ResizeWeights::Bits - 1);

/// Compiled into each clone of the function below, for its vector width.
#define RCAP_INLINE inline __attribute__((always_inline))

RCAP_INLINE std::uint8_t to_byte(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> ResizeWeights::Bits, 0, 255));
}

/// All taps of a byte at once.
template <int Taps>
RCAP_INLINE void weigh(const std::uint8_t* __restrict__ source, std::size_t source_bytes,
                       const std::int32_t* weights, std::size_t bytes,
                       std::uint8_t* __restrict__ result) {
  std::int32_t weight[Taps];
  std::copy_n(weights, Taps, weight);
  for (std::size_t x = 0; x < bytes; ++x) {
    std::int32_t sum = Half;
    for (std::size_t k = 0; k < Taps; ++k) sum += source[k * source_bytes + x] * weight[k];
    result[x] = to_byte(sum);
  }
}

RCAP_VECTOR_CLONES
void weigh_rows(const std::uint8_t* __restrict__ source, std::size_t source_bytes,
                const std::int32_t* weights, int taps, std::size_t bytes,
                std::int32_t* __restrict__ sums, std::uint8_t* __restrict__ result) {
  switch (taps) {
    case 2:
      return weigh<2>(source, source_bytes, weights, bytes, result);
    case 3:
      return weigh<3>(source, source_bytes, weights, bytes, result);
    case 4:
      return weigh<4>(source, source_bytes, weights, bytes, result);
    case 5:
      return weigh<5>(source, source_bytes, weights, bytes, result);
    case 6:
      return weigh<6>(source, source_bytes, weights, bytes, result);
    default:
      break;
  }
  std::fill_n(sums, bytes, Half);
  for (int k = 0; k < taps; ++k, source += source_bytes) {
    const std::int32_t weight = weights[k];
    for (std::size_t x = 0; x < bytes; ++x) sums[x] += source[x] * weight;
  }
  for (std::size_t x = 0; x < bytes; ++x) result[x] = to_byte(sums[x]);
}

}  // namespace

void resize_down(const PixelRows& source, int first_row, std::size_t row_bytes,
                 const ResizeWeights& weights, std::vector<std::int32_t>& sums,
                 std::uint8_t* result) {
  sums.resize(row_bytes);
  for (std::size_t y = 0; y < weights.size(); ++y, result += row_bytes) {
    const auto row = static_cast<std::size_t>(weights.first(y) - first_row);
    weigh_rows(source.pixels + row * source.row_bytes, source.row_bytes, weights.of(y),
               weights.taps(), row_bytes, sums.data(), result);
  }
}

}  // namespace rcap
