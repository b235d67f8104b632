#pragma once

#include "rcap/data/image.hpp"

namespace rcap {

/// Resizes an image to exactly `height` x `width`, bilinear with antialiasing: where it
/// shrinks, a pixel is the weighted mean of all those it covers.
///
/// Byte for byte what Pillow's `resize((width, height), Resampling.BILINEAR)` gives for
/// 8-bit images, up to its version 12: along rows first, then along columns, rounded to 8
/// bits in between, with weights of 22 bits; a direction whose size stays is left alone.
/// Pillow 13 takes the columns first where the height shrinks by more than twice the pixels
/// that the width loses; there some pixels differ from ours by one level.
///
/// @param source  at least one pixel; must not point into `result`
/// @param result  keeps its memory
/// @throws InvalidArgument  if a size is not in 1 .. 65,535
///
/// Costs about (h_source * width + height * width) * reach multiplications a channel, where
/// the reach is 2 times the reduction, at least 2.
void resize_image(const ImageView& source, int height, int width, Image& result);

/// The shape whose shorter side is `side` and whose longer one is in proportion, rounded
/// down: what torchvision's `Resize(side)` makes of it.
/// @throws InvalidArgument  if `side` or a side of the shape is below 1
[[nodiscard]] ImageShape with_shorter_side(const ImageShape& shape, int side);

}  // namespace rcap
