#include "rcap/data/resize_image.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rcap/core/error.hpp"

namespace rcap {
namespace {

constexpr int MostPixelsASide = 65535;
/// Eight bits of a pixel, 22 of a weight and two for the sum fill a 32-bit number.
constexpr int WeightBits = 22;
constexpr std::int32_t Half = 1 << (WeightBits - 1);

/// Which source positions make up each result position along one direction, and how much.
struct Weights {
  struct Reach {
    int first = 0;
    int count = 0;
  };

  std::vector<Reach> reaches;
  std::vector<std::int32_t> values;  ///< `stride` for each result position
  std::size_t stride = 0;

  [[nodiscard]] const std::int32_t* of(std::size_t i) const { return values.data() + i * stride; }
};

/// A triangle of height 1 over -1 .. 1.
double triangle(double x) { return std::max(0.0, 1.0 - std::abs(x)); }

Weights make_weights(int source_size, int result_size) {
  const double scale = static_cast<double>(source_size) / result_size;
  // Where the image grows the triangle spans neighbouring pixels, where it shrinks all that
  // become one.
  const double reach = std::max(scale, 1.0);
  Weights weights;
  weights.stride = static_cast<std::size_t>(std::ceil(reach)) * 2 + 1;
  weights.reaches.resize(static_cast<std::size_t>(result_size));
  weights.values.resize(weights.reaches.size() * weights.stride);
  std::vector<double> parts(weights.stride);
  for (std::size_t i = 0; i < weights.reaches.size(); ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const int first = std::max(0, static_cast<int>(center - reach + 0.5));
    const int last = std::min(source_size, static_cast<int>(center + reach + 0.5));
    weights.reaches[i] = {first, last - first};
    const auto count = static_cast<std::size_t>(last - first);
    double sum = 0;
    for (std::size_t k = 0; k < count; ++k) {
      parts[k] = triangle((static_cast<double>(k) + first - center + 0.5) * (1.0 / reach));
      sum += parts[k];
    }
    for (std::size_t k = 0; k < count; ++k) {
      const double part = sum == 0 ? parts[k] : parts[k] / sum;
      weights.values[i * weights.stride + k] =
          static_cast<std::int32_t>(0.5 + part * (1 << WeightBits));
    }
  }
  return weights;
}

std::uint8_t to_byte(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> WeightBits, 0, 255));
}

template <int Channels>
void resize_row(const std::uint8_t* source, const Weights& weights, std::uint8_t* result) {
  for (std::size_t x = 0; x < weights.reaches.size(); ++x) {
    const auto [first, count] = weights.reaches[x];
    const std::int32_t* weight = weights.of(x);
    const std::uint8_t* pixel = source + static_cast<std::ptrdiff_t>(first) * Channels;
    std::int32_t sums[Channels];
    std::fill_n(sums, Channels, Half);
    for (int k = 0; k < count; ++k, pixel += Channels) {
      for (int channel = 0; channel < Channels; ++channel) {
        sums[channel] += pixel[channel] * weight[k];
      }
    }
    for (int channel = 0; channel < Channels; ++channel) *result++ = to_byte(sums[channel]);
  }
}

void resize_rows(const ImageView& source, int width, std::uint8_t* result) {
  const Weights weights = make_weights(source.width, width);
  const auto channels = static_cast<std::size_t>(source.channels);
  const std::size_t source_bytes = static_cast<std::size_t>(source.width) * channels;
  const std::size_t result_bytes = static_cast<std::size_t>(width) * channels;
  const auto resize = source.channels == 1 ? resize_row<1> : resize_row<3>;
  for (std::size_t y = 0; y < static_cast<std::size_t>(source.height); ++y) {
    resize(source.pixels + y * source_bytes, weights, result + y * result_bytes);
  }
}

/// Whole rows are added up, so the compiler can do many columns at once.
void resize_columns(const ImageView& source, int height, std::uint8_t* result) {
  const Weights weights = make_weights(source.height, height);
  const std::size_t row_bytes =
      static_cast<std::size_t>(source.width) * static_cast<std::size_t>(source.channels);
  std::vector<std::int32_t> sums(row_bytes);
  for (std::size_t y = 0; y < static_cast<std::size_t>(height); ++y, result += row_bytes) {
    const auto [first, count] = weights.reaches[y];
    std::fill(sums.begin(), sums.end(), Half);
    for (int k = 0; k < count; ++k) {
      const std::int32_t weight = weights.of(y)[k];
      const std::uint8_t* row = source.pixels + static_cast<std::size_t>(first + k) * row_bytes;
      std::int32_t* const sum = sums.data();
      for (std::size_t x = 0; x < row_bytes; ++x) sum[x] += row[x] * weight;
    }
    std::transform(sums.begin(), sums.end(), result, to_byte);
  }
}

void check_side(std::string_view what, int size) {
  if (size >= 1 && size <= MostPixelsASide) return;
  throw InvalidArgument(
      fmt::format("resize_image: {} is {}; it lies in 1 .. {}", what, size, MostPixelsASide));
}

}  // namespace

void resize_image(const ImageView& source, int height, int width, Image& result) {
  check_side("the source's height", source.height);
  check_side("the source's width", source.width);
  check_side("the height", height);
  check_side("the width", width);
  if (source.channels != 1 && source.channels != 3) {
    throw InvalidArgument(
        fmt::format("resize_image: the source has {} channels; it has 1 or 3", source.channels));
  }
  result.resize(height, width, source.channels);
  if (height == source.height && width == source.width) {
    std::copy_n(source.pixels, source.bytes(), result.pixels.begin());
  } else if (height == source.height) {
    resize_rows(source, width, result.pixels.data());
  } else if (width == source.width) {
    resize_columns(source, height, result.pixels.data());
  } else {
    Image narrow;
    narrow.resize(source.height, width, source.channels);
    resize_rows(source, width, narrow.pixels.data());
    resize_columns(narrow.view(), height, result.pixels.data());
  }
}

ImageShape with_shorter_side(const ImageShape& shape, int side) {
  check_side("the shorter side", side);
  check_side("the source's height", shape.height);
  check_side("the source's width", shape.width);
  const auto longer = [side](int longest, int shortest) {
    return static_cast<int>(std::int64_t{side} * longest / shortest);
  };
  if (shape.height <= shape.width) {
    return {side, longer(shape.width, shape.height), shape.channels};
  }
  return {longer(shape.height, shape.width), side, shape.channels};
}

}  // namespace rcap
