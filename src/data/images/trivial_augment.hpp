#pragma once

#include <cstdint>

#include "data/images/image.hpp"
#include "data/images/sample_random.hpp"

namespace rcap {

/// The operations of TrivialAugmentWide, in torchvision's order.
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
  int bin = 0;            ///< 0 (weakest) to 30; 0 if the operation has only one strength
  bool negative = false;  ///< the other direction; only if there are two

  bool operator==(const Augmentation&) const = default;
};

/// Whether the operation has 31 strengths: all but Identity, AutoContrast and Equalize.
[[nodiscard]] bool has_bins(AugmentOperation operation);
/// Whether it has two directions: shears, shifts, rotations and the four enhancements.
[[nodiscard]] bool is_signed(AugmentOperation operation);

/// The number for the bin: a slope, pixels, degrees, a factor minus 1, bits or a level; 0 if the
/// operation has only one strength. In single precision, as in torchvision.
/// @throws InvalidArgument  a bin or a direction that the operation does not have
[[nodiscard]] float strength_of(const Augmentation& augmentation);

/// Draws one of 14 operations, then one of 31 bins if it has them, then the direction if it has
/// two: one to three numbers, in this order, each uniform.
[[nodiscard]] Augmentation draw_augmentation(SampleRandom& random);

/// Applies it: byte for byte what torchvision's TrivialAugmentWide makes of a Pillow image of mode
/// L or RGB, with nearest-neighbour sampling and black outside. (Pillow's arithmetic changes for
/// images of more than about 16,000 pixels per side; ours does not.)
///
/// @param source  1 or 3 channels; must not point into `result`
/// @param result  of the same size; reuses its memory
/// @throws InvalidArgument  like `strength_of`, or another number of channels
void augment(const ImageView& source, const Augmentation& augmentation, Image& result);

}  // namespace rcap
