#pragma once

#include <cstdint>

#include "data/images/image.hpp"
#include "data/images/sample_random.hpp"

namespace rcap {

/// What TrivialAugmentWide may do to an image, in torchvision's order.
enum class AugmentOperation : std::uint8_t {
  Identity,
  ShearX,
  ShearY,
  TranslateX,
  TranslateY,
  Rotate,
  Brightness,
  Color,
  Contrast,
  Sharpness,
  Posterize,
  Solarize,
  AutoContrast,
  Equalize,
};
inline constexpr int AugmentOperationCount = 14;
/// How many strengths an operation has, if it has more than one.
inline constexpr int AugmentBinCount = 31;

/// One operation with its strength.
struct Augmentation {
  AugmentOperation operation = AugmentOperation::Identity;
  int bin = 0;            ///< 0 (weakest) to 30; 0 where the operation has one strength only
  bool negative = false;  ///< the other direction; only where there are two

  bool operator==(const Augmentation&) const = default;
};

/// Whether the operation has 31 strengths: all but Identity, AutoContrast and Equalize.
[[nodiscard]] bool has_bins(AugmentOperation operation);
/// Whether it goes in two directions: shears, shifts, rotations and the four enhancements.
[[nodiscard]] bool is_signed(AugmentOperation operation);

/// The number that goes with the bin: a slope, pixels, degrees, a factor less 1, bits or a
/// level; 0 where the operation has one strength only. In single precision, as torchvision
/// has it.
/// @throws InvalidArgument  a bin or a direction that the operation does not have
[[nodiscard]] float strength_of(const Augmentation& augmentation);

/// Draws one operation out of 14, then, where it has them, one bin out of 31, then, where it
/// has two, the direction: one to three numbers, in this order, each uniform.
[[nodiscard]] Augmentation draw_augmentation(SampleRandom& random);

/// Applies it: byte for byte what torchvision's TrivialAugmentWide makes of a Pillow image of
/// mode L or RGB, with nearest-neighbour sampling and black outside. (Pillow changes its
/// arithmetic for images of more than about 16,000 pixels a side, we do not.)
///
/// @param source  1 or 3 channels; must not point into `result`
/// @param result  of the same size; keeps its memory
/// @throws InvalidArgument  as `strength_of`, or another number of channels
void augment(const ImageView& source, const Augmentation& augmentation, Image& result);

}  // namespace rcap
