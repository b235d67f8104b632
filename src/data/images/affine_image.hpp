#pragma once

#include "data/images/image.hpp"

namespace rcap {

/// Where the pixels of a result are in the source: (x, y) comes from
/// (xx * x + xy * y + x0, yx * x + yy * y + y0), both measured at pixel centres.
struct AffineMap {
  double xx = 1;
  double xy = 0;
  double x0 = 0;
  double yx = 0;
  double yy = 1;
  double y0 = 0;
};

/// Rotates an image of this size about its middle, counter-clockwise.
[[nodiscard]] AffineMap rotation_map(double degrees, int height, int width);

/// Takes the nearest pixel, or black if there is none; the size stays. The arithmetic is Pillow's:
/// fixed point with 16 fractional bits.
/// @param source  1 or 3 channels; must not point into `result`
void sample_affine(const ImageView& source, const AffineMap& map, Image& result);

}  // namespace rcap
