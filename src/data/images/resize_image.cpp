#include "data/images/resize_image.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "data/images/resize_across.hpp"
#include "data/images/resize_down.hpp"
#include "data/images/resize_weights.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

constexpr int MostPixelsASide = 65535;

void check_side(std::string_view what, int size) {
  if (size >= 1 && size <= MostPixelsASide) return;
  throw InvalidArgument(fmt::format("resize_image: {} is {}; it must lie between 1 and {}", what,
                                    size, MostPixelsASide));
}

void check_window(std::string_view what, int begin, int length, int size) {
  if (begin >= 0 && length >= 0 && length <= size - begin) return;
  throw InvalidArgument(
      fmt::format("resize_image: the window begins at {} {} and has {}; the result has {}", what,
                  begin, length, size));
}

void check(const ImageView& source, int height, int width, const ImageWindow& window) {
  check_side("the source's height", source.height);
  check_side("the source's width", source.width);
  check_side("the height", height);
  check_side("the width", width);
  if (source.channels != 1 && source.channels != 3) {
    throw InvalidArgument(fmt::format(
        "resize_image: the source has {} channels; it must have 1 or 3", source.channels));
  }
  check_window("row", window.top, window.height, height);
  check_window("column", window.left, window.width, width);
}

/// The rows of an image from row `top` and column `left`.
PixelRows rows_from(const ImageView& image, int top, int left) {
  const auto channels = static_cast<std::size_t>(image.channels);
  const std::size_t row_bytes = static_cast<std::size_t>(image.width) * channels;
  return {image.pixels + static_cast<std::size_t>(top) * row_bytes +
              static_cast<std::size_t>(left) * channels,
          row_bytes};
}

void copy_rows(const PixelRows& source, std::size_t bytes, Image& result) {
  for (std::size_t y = 0; y < static_cast<std::size_t>(result.height); ++y) {
    std::copy_n(source.pixels + y * source.row_bytes, bytes, result.pixels.data() + y * bytes);
  }
}

}  // namespace

struct ImageResizer::Memory {
  ResizeWeights weights_across;
  ResizeWeights weights_down;
  AcrossResizer across;
  std::vector<std::int32_t> sums;
};

ImageResizer::ImageResizer() : memory_(std::make_unique<Memory>()) {}
ImageResizer::~ImageResizer() = default;
ImageResizer::ImageResizer(ImageResizer&&) noexcept = default;
ImageResizer& ImageResizer::operator=(ImageResizer&&) noexcept = default;

void ImageResizer::resize(const ImageView& source, int height, int width, const ImageWindow& window,
                          Interpolation interpolation, Image& result) {
  check(source, height, width, window);
  result.resize(window.height, window.width, source.channels);
  if (result.pixels.empty()) return;
  const std::size_t row_bytes = result.pixels.size() / static_cast<std::size_t>(window.height);
  ResizeWeights& down = memory_->weights_down;
  ResizeWeights& across = memory_->weights_across;

  int first_row = window.top;  // of the rows of the source that are needed
  int row_count = window.height;
  if (height != source.height) {
    down.make(source.height, height, window.top, window.height, interpolation);
    first_row = down.source_begin();
    row_count = down.source_end() - first_row;
  }
  PixelRows rows = rows_from(source, first_row, window.left);
  if (width != source.width) {
    across.make(source.width, width, window.left, window.width, interpolation);
    rows = memory_->across.resize(rows_from(source, first_row, 0).pixels,
                                  static_cast<std::size_t>(row_count),
                                  static_cast<std::size_t>(source.width), source.channels, across);
  }
  if (height != source.height) {
    resize_down(rows, first_row, row_bytes, down, memory_->sums, result.pixels.data());
  } else {
    copy_rows(rows, row_bytes, result);
  }
}

void resize_image(const ImageView& source, int height, int width, Image& result,
                  Interpolation interpolation) {
  ImageResizer().resize(source, height, width, {0, 0, height, width}, interpolation, result);
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
