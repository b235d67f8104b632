#pragma once

#include "data/images/image.hpp"

namespace rcap {

/// The pixels to take from an image that continues in black beyond its sides.
struct Window {
  int top;
  int left;
  int height;
  int width;
  bool flipped;  ///< left and right are swapped

  bool operator==(const Window&) const = default;
};

/// The window of the shape `out` in the middle. It begins at half of the excess rows, rounded to
/// even as Python does; if rows are missing, the odd one goes to the end.
[[nodiscard]] Window central_window(ImageShape image, ImageShape out);

/// What the window shows of the image.
void cut_out(const ImageView& image, const Window& window, Image& result);

}  // namespace rcap
