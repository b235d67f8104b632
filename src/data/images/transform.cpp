#include "data/images/transform.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "data/images/cut_out.hpp"
#include "data/images/scale_levels.hpp"
#include "data/images/trivial_augment.hpp"
#include "rcap/core/error.hpp"

namespace rcap {

Transform::Transform(const TransformOptions& options) : options_(options) {
  for (const int size : {options.center_crop, options.resize, options.crop, options.padding}) {
    if (size < 0)
      throw InvalidArgument(fmt::format("transform: a size is {}; sizes must be >= 0", size));
  }
  const Normalization& normal = options.normalization;
  for (std::size_t channel = 0; channel < normal.mean.size(); ++channel) {
    const float deviation = normal.deviation.at(channel);
    if (!(deviation > 0)) {
      throw InvalidArgument(
          fmt::format("transform: deviation[{}] is {}; it must be above 0", channel, deviation));
    }
  }
  for (std::size_t i = 0; i < ScalePeriod && !normal.mean.empty(); ++i) {
    grey_.mean.push_back(normal.mean[0]);
    grey_.deviation.push_back(normal.deviation[0]);
    if (normal.mean.size() < 3) continue;
    colour_.mean.push_back(normal.mean[i % 3]);
    colour_.deviation.push_back(normal.deviation[i % 3]);
  }
}

ImageShape Transform::after_center_crop(ImageShape image) const {
  const int side = options_.center_crop;
  return side > 0 ? ImageShape{side, side, image.channels} : image;
}

ImageShape Transform::after_resize(ImageShape image) const {
  const int shorter = std::min(image.height, image.width);
  if (options_.resize == 0 || shorter == 0 || shorter == options_.resize) return image;
  return with_shorter_side(image, options_.resize);
}

ImageShape Transform::after_crop(ImageShape image) const {
  const int side = options_.crop;
  return side > 0 ? ImageShape{side, side, image.channels} : image;
}

ImageShape Transform::output_shape(ImageShape image) const {
  return after_crop(after_resize(after_center_crop(image)));
}

void Transform::check(const ImageView& image) const {
  const std::size_t normalized = options_.normalization.mean.size();
  if ((image.channels == 1 || image.channels == 3) &&
      static_cast<std::size_t>(image.channels) <= normalized) {
    return;
  }
  throw InvalidArgument(
      fmt::format("transform: an image has {} channels, the normalisation {}; images must have 1 "
                  "or 3, and no more than the normalisation",
                  image.channels, normalized));
}

void Transform::apply(ImageView image, std::optional<SampleRandom> random, Scratch& scratch,
                      float* numbers) const {
  const ImageView levels = apply_to_levels(image, random, scratch);
  const Scale& scale = levels.channels == 1 ? grey_ : colour_;
  scale_levels(levels.pixels, levels.bytes(), scale.mean.data(), scale.deviation.data(), numbers);
}

ImageView Transform::apply_to_levels(ImageView image, std::optional<SampleRandom> random,
                                     Scratch& scratch) const {
  check(image);
  if (const ImageShape middle = after_center_crop(image.shape()); middle != image.shape()) {
    cut_out(image, central_window(image.shape(), middle), scratch.centered);
    image = scratch.centered.view();
  }
  const ImageShape resized = after_resize(image.shape());
  const ImageShape out = after_crop(resized);
  Window window = random ? random_window(resized, out, *random) : central_window(resized, out);
  if (resized != image.shape()) image = resize_window(image, resized, window, scratch);
  if (window !=
      Window{.top = 0, .left = 0, .height = image.height, .width = image.width, .flipped = false}) {
    cut_out(image, window, scratch.cropped);
    image = scratch.cropped.view();
  }
  if (random && options_.trivial_augment) {
    augment(image, draw_augmentation(*random), scratch.augmented);
    image = scratch.augmented.view();
  }
  return image;
}

Window Transform::random_window(ImageShape image, ImageShape out, SampleRandom& random) const {
  Window window = central_window(image, out);
  if (options_.random_crop) {
    const int spare_rows = image.height + 2 * options_.padding - out.height;
    const int spare_columns = image.width + 2 * options_.padding - out.width;
    if (spare_rows < 0 || spare_columns < 0) {
      throw InvalidArgument(fmt::format(
          "transform: an image of {} x {} is smaller than the crop of {} x {}; resize it first",
          image.height, image.width, out.height, out.width));
    }
    const bool can_vary = spare_rows > 0 || spare_columns > 0;
    window.top = (can_vary ? random.below(spare_rows + 1) : 0) - options_.padding;
    window.left = (can_vary ? random.below(spare_columns + 1) : 0) - options_.padding;
  }
  window.flipped = options_.flip && random.below(2) == 1;
  return window;
}

ImageView Transform::resize_window(const ImageView& image, ImageShape shape, Window& window,
                                   Scratch& scratch) const {
  const auto part = [](int begin, int length, int end) {
    const int first = std::clamp(begin, 0, end);
    return std::pair(first, std::clamp(begin + length, first, end) - first);
  };
  const auto [top, height] = part(window.top, window.height, shape.height);
  const auto [left, width] = part(window.left, window.width, shape.width);
  scratch.resizer.resize(image, shape.height, shape.width, {top, left, height, width},
                         options_.interpolation, scratch.resized);
  window.top -= top;
  window.left -= left;
  return scratch.resized.view();
}

}  // namespace rcap
