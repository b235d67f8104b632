#include "data/images/resize_across.hpp"

#include <algorithm>
#include <array>

#include "data/images/resize_across_avx2.hpp"

namespace rcap {
namespace {

constexpr std::int32_t Half = 1 << (ResizeWeights::Bits - 1);

template <int Channels>
void resize_row(const std::uint8_t* source, const ResizeWeights& weights, std::uint8_t* result) {
  const std::int32_t* weight = weights.of(0);
  const int taps = weights.taps();
  for (std::size_t x = 0; x < weights.size(); ++x, weight += taps) {
    const std::uint8_t* pixel = source + static_cast<std::ptrdiff_t>(weights.first(x)) * Channels;
    std::int32_t sums[Channels];
    std::fill_n(sums, Channels, Half);
    for (int k = 0; k < taps; ++k, pixel += Channels) {
      for (int channel = 0; channel < Channels; ++channel) {
        sums[channel] += pixel[channel] * weight[k];
      }
    }
    for (int channel = 0; channel < Channels; ++channel) {
      *result++ =
          static_cast<std::uint8_t>(std::clamp(sums[channel] >> ResizeWeights::Bits, 0, 255));
    }
  }
}

}  // namespace

AcrossResizer::Code AcrossResizer::best_code() noexcept {
  return avx2::available() ? Code::Vector : Code::Plain;
}

PixelRows AcrossResizer::resize(const std::uint8_t* source, std::size_t rows, std::size_t width,
                                int channels, const ResizeWeights& weights, Code code) {
  const std::size_t source_bytes = width * static_cast<std::size_t>(channels);
  // Vectors write one byte too many, behind a row.
  const std::size_t result_bytes = weights.size() * static_cast<std::size_t>(channels) + 1;
  result_.resize(rows * result_bytes);
  if (code == Code::Vector && channels == 3) {
    resize_vector(source, rows, source_bytes, result_bytes, weights);
  } else {
    const auto resize = channels == 1 ? resize_row<1> : resize_row<3>;
    for (std::size_t y = 0; y < rows; ++y) {
      resize(source + y * source_bytes, weights, result_.data() + y * result_bytes);
    }
  }
  return {result_.data(), result_bytes};
}

/// Four rows at a time. The last ones, which cannot be read beyond their end, are copied; if fewer
/// than four are left, the others are computed into spare rows.
void AcrossResizer::resize_vector(const std::uint8_t* source, std::size_t rows,
                                  std::size_t source_bytes, std::size_t result_bytes,
                                  const ResizeWeights& weights) {
  constexpr std::size_t Together = avx2::RowsTogether;
  avx2::make_tap_pairs(weights, pairs_);
  result_.resize((rows + Together) * result_bytes);
  last_rows_.resize(Together * (source_bytes + avx2::BytesBeyond));
  const std::uint8_t* const source_end = source + rows * source_bytes;
  std::array<const std::uint8_t*, Together> from{};
  std::array<std::uint8_t*, Together> to{};
  for (std::size_t y = 0; y < rows; y += Together) {
    for (std::size_t i = 0; i < Together; ++i) {
      const std::uint8_t* const row = source + std::min(y + i, rows - 1) * source_bytes;
      to[i] = result_.data() + (y + i) * result_bytes;
      from[i] = row;
      if (static_cast<std::size_t>(source_end - row) < source_bytes + avx2::BytesBeyond) {
        from[i] = last_rows_.data() + i * (source_bytes + avx2::BytesBeyond);
        std::copy_n(row, source_bytes, last_rows_.data() + i * (source_bytes + avx2::BytesBeyond));
      }
    }
    avx2::resize_rows(from, weights, pairs_, to);
  }
}

}  // namespace rcap
