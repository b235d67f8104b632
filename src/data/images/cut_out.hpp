#pragma once

#include "data/images/image.hpp"

namespace rcap {

/// The pixels that are taken, of an image that goes on in black beyond its sides.
struct Window {
  int top;
  int left;
  int height;
  int width;
  bool flipped;  ///< left and right change places

  bool operator==(const Window&) const = default;
};

/// The window of the shape `out` in the middle. It begins at half of the rows left over, rounded
/// to the even neighbour as Python does it; missing rows are split with the odd one at the end.
[[nodiscard]] Window central_window(ImageShape image, ImageShape out);

/// What the window shows of the image.
void cut_out(const ImageView& image, const Window& window, Image& result);

}  // namespace rcap
