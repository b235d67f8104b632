#pragma once

#include "data/images/image.hpp"

namespace rcap {

/// Changes to an image that leave every pixel in its place, with Pillow's arithmetic. All take 1 or
/// 3 channels; the source must not point into `result`, which gets its size and reuses its memory.

/// The four enhancements go from a poorer image to the given one, and beyond: factor 0 is the
/// poorer one, 1 the given one. In single precision, clipped to 0 and 255, rounded down. The poorer
/// image is black ...
void adjust_brightness(const ImageView& source, float factor, Image& result);
/// ... or the same image in grey ...
void adjust_color(const ImageView& source, float factor, Image& result);
/// ... or its mean grey level everywhere ...
void adjust_contrast(const ImageView& source, float factor, Image& result);
/// ... or a smoother one: the mean of 3 x 3 pixels in which the middle one counts 5 times. Pixels
/// at the border stay as they are.
void adjust_sharpness(const ImageView& source, float factor, Image& result);

/// Keeps the highest `bits` of each level, 1 to 8.
void posterize(const ImageView& source, int bits, Image& result);
/// Inverts the levels from `threshold` on.
void solarize(const ImageView& source, float threshold, Image& result);
/// Stretches each channel so that its lowest level becomes 0 and its highest 255, in double
/// precision and rounded down (so that the highest may become 254); a channel with a single level
/// stays.
void stretch_contrast(const ImageView& source, Image& result);
/// Spreads the levels of each channel so that equal ranges of levels hold about the same number of
/// pixels; a channel with too few pixels outside its highest level (less than 255) stays.
void equalize(const ImageView& source, Image& result);

}  // namespace rcap
