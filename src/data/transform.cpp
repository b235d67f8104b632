#include "rcap/data/transform.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "rcap/core/error.hpp"
#include "rcap/data/resize_image.hpp"

namespace rcap {
namespace {

constexpr std::size_t Levels = 256;

/// Where a central crop begins if `spare` rows are left over: half of them, rounded to the
/// even neighbour as Python does it. Missing rows are split with the odd one at the end.
int central(int spare) {
  return spare < 0 ? -(-spare / 2) : static_cast<int>(std::nearbyint(spare / 2.0));
}

}  // namespace

Transform::Transform(const TransformOptions& options) : options_(options) {
  for (const int size : {options.resize, options.crop, options.padding}) {
    if (size < 0)
      throw InvalidArgument(fmt::format("transform: a size is {}; sizes are >= 0", size));
  }
  const Normalization& normal = options.normalization;
  for (std::size_t channel = 0; channel < normal.mean.size(); ++channel) {
    const float deviation = normal.deviation.at(channel);
    if (!(deviation > 0)) {
      throw InvalidArgument(
          fmt::format("transform: deviation[{}] is {}; it must be above 0", channel, deviation));
    }
    for (std::size_t level = 0; level < Levels; ++level) {
      // In this order and precision: ToTensor divides by 255, Normalize does the rest.
      const float scaled = static_cast<float>(level) / 255.0F;
      numbers_of_.push_back((scaled - normal.mean[channel]) / deviation);
    }
  }
}

ImageShape Transform::output_shape(ImageShape image) const noexcept {
  if (options_.crop > 0) return {options_.crop, options_.crop, image.channels};
  return options_.resize > 0 ? with_shorter_side(image, options_.resize) : image;
}

void Transform::apply(ImageView image, std::optional<SampleRandom> random, Image& scratch,
                      float* numbers) const {
  if (options_.resize > 0 && std::min(image.height, image.width) != options_.resize) {
    const ImageShape shape =
        with_shorter_side({image.height, image.width, image.channels}, options_.resize);
    resize_image(image, shape.height, shape.width, scratch);
    image = scratch.view();
  }
  const ImageShape out = output_shape({image.height, image.width, image.channels});
  const Window window =
      random ? random_window(image, out, *random)
             : Window{central(image.height - out.height), central(image.width - out.width), false};
  copy_window(image, window, out, numbers);
}

Transform::Window Transform::random_window(ImageView image, ImageShape out,
                                           SampleRandom& random) const {
  const int spare_rows = image.height + 2 * options_.padding - out.height;
  const int spare_columns = image.width + 2 * options_.padding - out.width;
  if (spare_rows < 0 || spare_columns < 0) {
    throw InvalidArgument(
        fmt::format("transform: an image of {} x {} is smaller than the crop of {} x {}; resize it "
                    "first",
                    image.height, image.width, out.height, out.width));
  }
  Window window{-options_.padding, -options_.padding, false};
  if (spare_rows > 0 || spare_columns > 0) {
    window.top += random.below(spare_rows + 1);
    window.left += random.below(spare_columns + 1);
  }
  window.flipped = options_.flip && random.below(2) == 1;
  return window;
}

void Transform::copy_window(ImageView image, const Window& window, ImageShape out,
                            float* numbers) const {
  const int channels = image.channels;
  const int begin = std::clamp(-window.left, 0, out.width);  // columns that lie in the image
  const int end = std::clamp(image.width - window.left, begin, out.width);
  const auto put_black = [&](float*& to, int pixels) {
    for (int i = 0; i < pixels; ++i) {
      for (int c = 0; c < channels; ++c) *to++ = numbers_of_[Levels * static_cast<std::size_t>(c)];
    }
  };
  for (int row = 0; row < out.height; ++row) {
    float* to = numbers + static_cast<std::ptrdiff_t>(row) * out.width * channels;
    float* const row_begin = to;
    const int source_row = window.top + row;
    if (source_row < 0 || source_row >= image.height) {
      put_black(to, out.width);
      continue;
    }
    put_black(to, begin);
    const std::uint8_t* from =
        image.pixels +
        (static_cast<std::ptrdiff_t>(source_row) * image.width + window.left + begin) * channels;
    for (int i = begin; i < end; ++i) {
      for (int c = 0; c < channels; ++c) {
        *to++ = numbers_of_[Levels * static_cast<std::size_t>(c) + *from++];
      }
    }
    put_black(to, out.width - end);
    if (!window.flipped) continue;
    for (int left = 0, right = out.width - 1; left < right; ++left, --right) {
      std::swap_ranges(row_begin + left * channels, row_begin + (left + 1) * channels,
                       row_begin + right * channels);
    }
  }
}

}  // namespace rcap
