#include "data/images/adjust_levels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "core/vector_clones.hpp"

// Loops over plain pointers, so that the compiler processes many bytes at once. Contracted
// multiply-adds are switched off for this file: they would change a level here and there.

namespace rcap {
namespace {

constexpr int Levels = 256;

std::uint8_t blended(int poorer, int given, float factor) {
  const float value = static_cast<float>(poorer) + factor * static_cast<float>(given - poorer);
  return static_cast<std::uint8_t>(static_cast<int>(std::clamp(value, 0.0F, 255.0F)));
}

int grey_of(int red, int green, int blue) {
  return (19595 * red + 38470 * green + 7471 * blue + 32768) >> 16;
}

/// Rounded to the nearest: the sum of the weights is 13. In 16 bits: the result is the upper half
/// of a product with 5042 = 65536 / 13, rounded up, which is exact for all possible sums.
std::uint8_t thirteenth(int sum) {
  const auto rounded = static_cast<std::uint16_t>(sum + 6);
  return static_cast<std::uint8_t>((rounded * 5042U) >> 16);
}

RCAP_VECTOR_CLONES
void blend_with_level(const std::uint8_t* from, std::size_t bytes, int level, float factor,
                      std::uint8_t* to) {
  for (std::size_t i = 0; i < bytes; ++i) to[i] = blended(level, from[i], factor);
}

RCAP_VECTOR_CLONES
void blend_with_grey(const std::uint8_t* from, std::size_t pixels, float factor, std::uint8_t* to) {
  for (std::size_t i = 0; i < pixels; ++i) {
    const int red = from[3 * i];
    const int green = from[3 * i + 1];
    const int blue = from[3 * i + 2];
    const int grey = grey_of(red, green, blue);
    to[3 * i] = blended(grey, red, factor);
    to[3 * i + 1] = blended(grey, green, factor);
    to[3 * i + 2] = blended(grey, blue, factor);
  }
}

/// `bytes` of a row, none of which is at the border; neighbours are `pixel` and `row` away.
RCAP_VECTOR_CLONES
void blend_with_smooth(const std::uint8_t* from, std::ptrdiff_t bytes, std::ptrdiff_t pixel,
                       std::ptrdiff_t row, float factor, std::uint8_t* to) {
  const std::uint8_t* const above = from - row;
  const std::uint8_t* const below = from + row;
  for (std::ptrdiff_t i = 0; i < bytes; ++i) {
    const int sum = above[i - pixel] + above[i] + above[i + pixel] + from[i - pixel] + 5 * from[i] +
                    from[i + pixel] + below[i - pixel] + below[i] + below[i + pixel];
    to[i] = blended(thirteenth(sum), from[i], factor);
  }
}

RCAP_VECTOR_CLONES
std::uint64_t sum_of_levels(const std::uint8_t* from, std::size_t bytes) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < bytes; ++i) sum += from[i];
  return sum;
}

RCAP_VECTOR_CLONES
std::uint64_t sum_of_greys(const std::uint8_t* from, std::size_t pixels) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < pixels; ++i) {
    sum += static_cast<std::uint64_t>(grey_of(from[3 * i], from[3 * i + 1], from[3 * i + 2]));
  }
  return sum;
}

RCAP_VECTOR_CLONES
void mask_levels(const std::uint8_t* from, std::size_t bytes, std::uint8_t mask, std::uint8_t* to) {
  for (std::size_t i = 0; i < bytes; ++i) to[i] = from[i] & mask;
}

RCAP_VECTOR_CLONES
void invert_from(const std::uint8_t* from, std::size_t bytes, std::uint8_t first_inverted,
                 std::uint8_t* to) {
  for (std::size_t i = 0; i < bytes; ++i) {
    const auto inverted = static_cast<std::uint8_t>(~from[i]);
    to[i] = from[i] < first_inverted ? from[i] : inverted;
  }
}

std::size_t pixels_of(const ImageView& image) {
  return image.bytes() / static_cast<std::size_t>(image.channels);
}

void take_shape(const ImageView& source, Image& result) {
  result.resize(source.height, source.width, source.channels);
}

using Counts = std::array<std::uint32_t, Levels>;
using Table = std::array<std::uint8_t, Levels>;

/// One for each channel; grey images have one.
using AllCounts = std::array<Counts, 3>;
using AllTables = std::array<Table, 3>;

Table unchanged() {
  Table table;
  for (std::size_t level = 0; level < Levels; ++level)
    table[level] = static_cast<std::uint8_t>(level);
  return table;
}

template <std::size_t Channels>
void count_levels(const std::uint8_t* from, std::size_t pixels, AllCounts& counts) {
  for (std::size_t i = 0; i < pixels; ++i, from += Channels) {
    for (std::size_t channel = 0; channel < Channels; ++channel) ++counts[channel][from[channel]];
  }
}

template <std::size_t Channels>
void look_up(const std::uint8_t* from, std::size_t pixels, const AllTables& tables,
             std::uint8_t* to) {
  for (std::size_t i = 0; i < pixels; ++i, from += Channels, to += Channels) {
    for (std::size_t channel = 0; channel < Channels; ++channel) {
      to[channel] = tables[channel][from[channel]];
    }
  }
}

bool occupied(std::uint32_t count) { return count > 0; }

Table stretching_table(const Counts& counts) {
  const auto lowest = std::find_if(counts.begin(), counts.end(), occupied) - counts.begin();
  const auto highest = counts.rend() - std::find_if(counts.rbegin(), counts.rend(), occupied) - 1;
  Table table = unchanged();
  if (highest <= lowest) return table;
  const double scale = 255.0 / static_cast<double>(highest - lowest);
  const double offset = -static_cast<double>(lowest) * scale;
  for (std::size_t level = 0; level < Levels; ++level) {
    const int stretched = static_cast<int>(static_cast<double>(level) * scale + offset);
    table[level] = static_cast<std::uint8_t>(std::clamp(stretched, 0, 255));
  }
  return table;
}

Table equalizing_table(const Counts& counts) {
  const std::int64_t pixels = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  const std::int64_t highest = *std::find_if(counts.rbegin(), counts.rend(), occupied);
  const std::int64_t step = (pixels - highest) / 255;
  Table table = unchanged();
  if (step == 0) return table;
  std::int64_t sum = step / 2;
  for (std::size_t level = 0; level < Levels; ++level) {
    table[level] = static_cast<std::uint8_t>(std::min<std::int64_t>(sum / step, 255));
    sum += counts[level];
  }
  return table;
}

/// Maps each channel through a table made from its own counts.
void map_levels(const ImageView& source, Table (*make_table)(const Counts&), Image& result) {
  take_shape(source, result);
  const bool grey = source.channels == 1;
  AllCounts counts{};
  (grey ? count_levels<1> : count_levels<3>)(source.pixels, pixels_of(source), counts);
  AllTables tables;
  for (std::size_t channel = 0; channel < static_cast<std::size_t>(source.channels); ++channel) {
    tables[channel] = make_table(counts[channel]);
  }
  (grey ? look_up<1> : look_up<3>)(source.pixels, pixels_of(source), tables, result.pixels.data());
}

}  // namespace

void adjust_brightness(const ImageView& source, float factor, Image& result) {
  take_shape(source, result);
  blend_with_level(source.pixels, source.bytes(), 0, factor, result.pixels.data());
}

void adjust_color(const ImageView& source, float factor, Image& result) {
  take_shape(source, result);
  if (source.channels == 1) {  // a grey image has no poorer version
    std::copy_n(source.pixels, source.bytes(), result.pixels.begin());
  } else {
    blend_with_grey(source.pixels, pixels_of(source), factor, result.pixels.data());
  }
}

void adjust_contrast(const ImageView& source, float factor, Image& result) {
  take_shape(source, result);
  const std::size_t pixels = pixels_of(source);
  const std::uint64_t sum = source.channels == 1 ? sum_of_levels(source.pixels, pixels)
                                                 : sum_of_greys(source.pixels, pixels);
  const int mean = static_cast<int>(static_cast<double>(sum) / static_cast<double>(pixels) + 0.5);
  blend_with_level(source.pixels, source.bytes(), mean, factor, result.pixels.data());
}

void adjust_sharpness(const ImageView& source, float factor, Image& result) {
  take_shape(source, result);
  const std::ptrdiff_t pixel = source.channels;
  const std::ptrdiff_t row = source.width * pixel;
  const std::uint8_t* from = source.pixels;
  std::uint8_t* to = result.pixels.data();
  for (int y = 0; y < source.height; ++y, from += row, to += row) {
    if (y == 0 || y == source.height - 1) {
      std::copy_n(from, row, to);
      continue;
    }
    std::copy_n(from, pixel, to);
    blend_with_smooth(from + pixel, row - 2 * pixel, pixel, row, factor, to + pixel);
    std::copy_n(from + row - pixel, pixel, to + row - pixel);
  }
}

void posterize(const ImageView& source, int bits, Image& result) {
  take_shape(source, result);
  const auto mask = static_cast<std::uint8_t>(0xFF << (8 - bits));
  mask_levels(source.pixels, source.bytes(), mask, result.pixels.data());
}

void solarize(const ImageView& source, float threshold, Image& result) {
  take_shape(source, result);
  // The first whole level at or above the threshold, which is at most 255.
  const auto first = static_cast<std::uint8_t>(std::ceil(threshold));
  invert_from(source.pixels, source.bytes(), first, result.pixels.data());
}

void stretch_contrast(const ImageView& source, Image& result) {
  map_levels(source, stretching_table, result);
}

void equalize(const ImageView& source, Image& result) {
  map_levels(source, equalizing_table, result);
}

}  // namespace rcap
