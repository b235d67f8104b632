#include "data/images/trivial_augment.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "data/images/adjust_levels.hpp"
#include "data/images/affine_image.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

/// A row of the table of operations. The strength grows evenly from the first bin to the last.
struct Line {
  std::string_view name;
  float first = 0;
  float last = 0;
  bool has_two_directions = false;
};

constexpr bool TwoDirections = true;
constexpr std::array<Line, AugmentOperationCount> Lines{{
    {"Identity"},
    {"ShearX", 0, 0.99F, TwoDirections},
    {"ShearY", 0, 0.99F, TwoDirections},
    {"TranslateX", 0, 32, TwoDirections},
    {"TranslateY", 0, 32, TwoDirections},
    {"Rotate", 0, 135, TwoDirections},
    {"Brightness", 0, 0.99F, TwoDirections},
    {"Color", 0, 0.99F, TwoDirections},
    {"Contrast", 0, 0.99F, TwoDirections},
    {"Sharpness", 0, 0.99F, TwoDirections},
    {"Posterize", 8, 2},
    {"Solarize", 255, 0},
    {"AutoContrast"},
    {"Equalize"},
}};

const Line& line_of(AugmentOperation operation) {
  const auto number = static_cast<std::size_t>(operation);
  if (number < Lines.size()) return Lines[number];
  throw InvalidArgument(
      fmt::format("augment: operation {}; it must lie between 0 and {}", number, Lines.size() - 1));
}

void check(const Augmentation& augmentation) {
  const Line& line = line_of(augmentation.operation);
  const int bins = has_bins(augmentation.operation) ? AugmentBinCount : 1;
  if (augmentation.bin < 0 || augmentation.bin >= bins) {
    throw InvalidArgument(fmt::format("augment: bin {} of {}; it must lie between 0 and {}",
                                      augmentation.bin, line.name, bins - 1));
  }
  if (augmentation.negative && !line.has_two_directions) {
    throw InvalidArgument(fmt::format("augment: {} has one direction only", line.name));
  }
}

/// Evenly spaced from both ends to the middle, each rounded once to single precision, as in
/// PyTorch's linspace. It gives 15.999999 for half of 32, so TranslateX of bin 15 moves by 15
/// pixels.
float evenly_spaced(float first, float last, int bin) {
  constexpr int Steps = AugmentBinCount - 1;
  const double step = (last - first) / Steps;  // in single precision up to here, exact from here on
  return static_cast<float>(bin < AugmentBinCount / 2 ? first + step * bin
                                                      : last - step * (Steps - bin));
}

}  // namespace

bool has_bins(AugmentOperation operation) {
  const Line& line = line_of(operation);
  return line.first != line.last;
}

bool is_signed(AugmentOperation operation) { return line_of(operation).has_two_directions; }

float strength_of(const Augmentation& augmentation) {
  check(augmentation);
  const Line& line = line_of(augmentation.operation);
  const float strength = evenly_spaced(line.first, line.last, augmentation.bin);
  if (augmentation.operation == AugmentOperation::Posterize) return std::nearbyint(strength);
  return augmentation.negative ? -strength : strength;
}

Augmentation draw_augmentation(SampleRandom& random) {
  Augmentation drawn;
  drawn.operation = static_cast<AugmentOperation>(random.below(AugmentOperationCount));
  if (has_bins(drawn.operation)) drawn.bin = random.below(AugmentBinCount);
  if (is_signed(drawn.operation)) drawn.negative = random.below(2) == 1;
  return drawn;
}

void augment(const ImageView& source, const Augmentation& augmentation, Image& result) {
  if (source.channels != 1 && source.channels != 3) {
    throw InvalidArgument(
        fmt::format("augment: the image has {} channels; it must have 1 or 3", source.channels));
  }
  const float strength = strength_of(augmentation);
  // 1 is added in double precision, as Python does, before Pillow rounds the sum.
  const auto factor = static_cast<float>(1.0 + static_cast<double>(strength));
  switch (augmentation.operation) {
    case AugmentOperation::Identity:
      result.resize(source.height, source.width, source.channels);
      std::copy_n(source.pixels, source.bytes(), result.pixels.begin());
      return;
    case AugmentOperation::ShearX:
      return sample_affine(source, {.xy = strength}, result);
    case AugmentOperation::ShearY:
      return sample_affine(source, {.yx = strength}, result);
    case AugmentOperation::TranslateX:
      return sample_affine(source, {.x0 = -std::trunc(strength)}, result);
    case AugmentOperation::TranslateY:
      return sample_affine(source, {.y0 = -std::trunc(strength)}, result);
    case AugmentOperation::Rotate:
      return sample_affine(source, rotation_map(strength, source.height, source.width), result);
    case AugmentOperation::Brightness:
      return adjust_brightness(source, factor, result);
    case AugmentOperation::Color:
      return adjust_color(source, factor, result);
    case AugmentOperation::Contrast:
      return adjust_contrast(source, factor, result);
    case AugmentOperation::Sharpness:
      return adjust_sharpness(source, factor, result);
    case AugmentOperation::Posterize:
      return posterize(source, static_cast<int>(strength), result);
    case AugmentOperation::Solarize:
      return solarize(source, strength, result);
    case AugmentOperation::AutoContrast:
      return stretch_contrast(source, result);
    case AugmentOperation::Equalize:
      return equalize(source, result);
  }
}

}  // namespace rcap
