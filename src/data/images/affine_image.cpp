#include "data/images/affine_image.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

namespace rcap {
namespace {

constexpr int FractionBits = 16;
constexpr std::int64_t One = 1 << FractionBits;

std::int64_t to_fixed(double value) {
  return static_cast<std::int64_t>(std::floor(value * static_cast<double>(One) + 0.5));
}

/// A position in the source, or a step through it.
struct Point {
  std::int64_t x;
  std::int64_t y;

  [[nodiscard]] Point after(std::int64_t steps, const Point& step) const {
    return {x + steps * step.x, y + steps * step.y};
  }
  [[nodiscard]] bool inside(const ImageView& image) const {
    return x >= 0 && x < image.width * One && y >= 0 && y < image.height * One;
  }
  [[nodiscard]] const std::uint8_t* pixel(const ImageView& image) const {
    return image.pixels +
           ((y >> FractionBits) * image.width + (x >> FractionBits)) * image.channels;
  }
};

template <int Channels>
void gather(const ImageView& source, Point from, const Point& step, int pixels, std::uint8_t* to) {
  for (int i = 0; i < pixels; ++i, to += Channels) {
    const std::uint8_t* const pixel = from.pixel(source);
    for (int channel = 0; channel < Channels; ++channel) to[channel] = pixel[channel];
    from = from.after(1, step);
  }
}

void sample_row(const ImageView& source, const Point& from, const Point& step, std::uint8_t* to) {
  // A line through a rectangle is inside from one point to another.
  int begin = 0;
  int end = source.width;
  while (begin < end && !from.after(begin, step).inside(source)) ++begin;
  while (begin < end && !from.after(end - 1, step).inside(source)) --end;
  std::fill_n(to, begin * source.channels, std::uint8_t{0});
  std::fill_n(to + end * source.channels, (source.width - end) * source.channels, std::uint8_t{0});
  if (begin == end) return;
  const Point first = from.after(begin, step);
  to += begin * source.channels;
  if (step.x == One && step.y == 0) {
    std::copy_n(first.pixel(source), (end - begin) * source.channels, to);
  } else if (source.channels == 1) {
    gather<1>(source, first, step, end - begin, to);
  } else {
    gather<3>(source, first, step, end - begin, to);
  }
}

}  // namespace

AffineMap rotation_map(double degrees, int height, int width) {
  const double angle = degrees * (std::numbers::pi / 180);
  // To 15 digits, as in Pillow: a quarter turn then has no remainder.
  const auto rounded = [](double value) { return std::nearbyint(value * 1e15) / 1e15; };
  const double cosine = rounded(std::cos(angle));
  const double sine = rounded(std::sin(angle));
  const double x = width / 2.0;
  const double y = height / 2.0;
  return {cosine, -sine, cosine * -x - sine * -y + x, sine, cosine, sine * -x + cosine * -y + y};
}

void sample_affine(const ImageView& source, const AffineMap& map, Image& result) {
  result.resize(source.height, source.width, source.channels);
  const Point step{to_fixed(map.xx), to_fixed(map.yx)};
  const Point row_step{to_fixed(map.xy), to_fixed(map.yy)};
  const Point first{to_fixed(map.x0 + map.xx * 0.5 + map.xy * 0.5),
                    to_fixed(map.y0 + map.yx * 0.5 + map.yy * 0.5)};
  const std::ptrdiff_t row_bytes = std::ptrdiff_t{source.width} * source.channels;
  for (int row = 0; row < source.height; ++row) {
    sample_row(source, first.after(row, row_step), step, result.pixels.data() + row * row_bytes);
  }
}

}  // namespace rcap
