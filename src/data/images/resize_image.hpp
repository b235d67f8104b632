#pragma once

#include <memory>

#include "data/images/image.hpp"

namespace rcap {

/// How pixels in between are computed. Both are antialiased: if an image shrinks, a pixel is the
/// weighted mean of all those it covers.
enum class Interpolation {
  Bilinear,
  Bicubic,  ///< with Pillow's a = -0.5; smoother, and it overshoots at edges
};

/// A rectangle of an image.
struct ImageWindow {
  int top = 0;
  int left = 0;
  int height = 0;
  int width = 0;
};

/// Resizes image after image, reusing its memory.
///
/// One thread at a time may use it.
class ImageResizer {
 public:
  ImageResizer();
  ~ImageResizer();
  ImageResizer(ImageResizer&&) noexcept;
  ImageResizer& operator=(ImageResizer&&) noexcept;

  /// The part `window` of what `resize_image` makes of the image, byte for byte; the rest is not
  /// computed.
  ///
  /// @param source  at least one pixel; must not point into `result`
  /// @param window  within `height` x `width`; may be empty
  /// @param result  of the window's size; reuses its memory
  /// @throws InvalidArgument  like `resize_image`, or if the window is outside
  void resize(const ImageView& source, int height, int width, const ImageWindow& window,
              Interpolation interpolation, Image& result);

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

/// Resizes an image to exactly `height` x `width`.
///
/// Byte for byte what Pillow's `resize((width, height), Resampling.BILINEAR)`, or BICUBIC, gives
/// for 8-bit images, up to its version 12: along rows first, then along columns, rounded to 8 bits
/// in between, with weights of 22 bits; a direction whose size stays is skipped. Pillow 13
/// processes columns first if the height shrinks by more than twice the pixels that the width
/// loses; some pixels then differ from ours by one level.
///
/// @param source  at least one pixel; must not point into `result`
/// @param result  reuses its memory
/// @throws InvalidArgument  if a size does not lie between 1 and 65,535
///
/// Costs about (h_source * width + height * width) * reach multiplications per channel; the reach
/// is 2 times the reduction, at least 2; twice that for bicubic.
void resize_image(const ImageView& source, int height, int width, Image& result,
                  Interpolation interpolation = Interpolation::Bilinear);

/// The shape whose shorter side is `side` and whose longer one is in proportion, rounded down, as
/// torchvision's `Resize(side)` computes it.
/// @throws InvalidArgument  if `side` or a side of the shape is below 1
[[nodiscard]] ImageShape with_shorter_side(const ImageShape& shape, int side);

}  // namespace rcap
