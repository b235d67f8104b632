#pragma once

#include "data/images/image.hpp"

namespace rcap {

/// Where the pixels of a result lie in the source: (x, y) comes from
/// (xx * x + xy * y + x0, yx * x + yy * y + y0), both measured at pixel centres.
struct AffineMap {
  double xx = 1;
  double xy = 0;
  double x0 = 0;
  double yx = 0;
  double yy = 1;
  double y0 = 0;
};

/// Turns an image of this size about its middle, counter-clockwise.
[[nodiscard]] AffineMap rotation_map(double degrees, int height, int width);

/// Takes the nearest pixel, black where there is none; the size stays. The arithmetic is
/// Pillow's: fixed point with 16 bits behind the point.
/// @param source  1 or 3 channels; must not point into `result`
void sample_affine(const ImageView& source, const AffineMap& map, Image& result);

}  // namespace rcap
