#include "data/images/cut_out.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace rcap {
namespace {

/// Where a central window begins if there are `spare` more rows than it has.
int central(int spare) {
  return spare < 0 ? -(-spare / 2) : static_cast<int>(std::nearbyint(spare / 2.0));
}

/// Copies a row from right to left, pixel by pixel.
template <std::size_t Channels>
void copy_mirrored(const std::uint8_t* from, std::ptrdiff_t pixels, std::uint8_t* to) {
  // Moves one byte more than the three of a pixel, while that byte is within the row and is
  // overwritten by the next pixel: one access instead of three.
  constexpr std::size_t Together = Channels == 3 ? 4 : Channels;
  for (std::ptrdiff_t i = 0; i < pixels; ++i, to += Channels) {
    const bool inside = i > 0 && i + 1 < pixels;
    std::memcpy(to, from + (pixels - 1 - i) * static_cast<std::ptrdiff_t>(Channels),
                inside ? Together : Channels);
  }
}

}  // namespace

Window central_window(ImageShape image, ImageShape out) {
  return {central(image.height - out.height), central(image.width - out.width), out.height,
          out.width, false};
}

void cut_out(const ImageView& image, const Window& window, Image& result) {
  result.resize(window.height, window.width, image.channels);
  // Columns of the window, counted from its left, that are in the image.
  const int begin = std::clamp(-window.left, 0, window.width);
  const int end = std::clamp(image.width - window.left, begin, window.width);
  const int black = window.flipped ? window.width - end : begin;  // before them in the result
  const auto bytes = [&](int pixels) { return std::ptrdiff_t{pixels} * image.channels; };
  const auto mirror = image.channels == 1 ? copy_mirrored<1> : copy_mirrored<3>;
  std::uint8_t* to = result.pixels.data();
  for (int row = window.top; row < window.top + window.height; ++row, to += bytes(window.width)) {
    if (row < 0 || row >= image.height || begin == end) {
      std::fill_n(to, bytes(window.width), std::uint8_t{0});
      continue;
    }
    const std::uint8_t* const from =
        image.pixels + bytes(image.width) * row + bytes(window.left + begin);
    std::fill_n(to, bytes(black), std::uint8_t{0});
    if (window.flipped) {
      mirror(from, end - begin, to + bytes(black));
    } else {
      std::copy_n(from, bytes(end - begin), to + bytes(black));
    }
    const int filled = black + end - begin;
    std::fill_n(to + bytes(filled), bytes(window.width - filled), std::uint8_t{0});
  }
}

}  // namespace rcap
