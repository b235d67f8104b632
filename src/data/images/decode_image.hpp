#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "data/images/image.hpp"

namespace rcap {

/// An image whose header claims more pixels than this is refused before memory is taken.
inline constexpr std::int64_t MostPixels = 100'000'000;

/// Decodes a JPEG or PNG image to red, green and blue; `image` keeps its memory.
///
/// Which of the two it is, its first bytes tell, never its name. The pixels are those of
/// Pillow's `Image.open(path).convert("RGB")`:
///
///  - grey becomes three equal channels; a palette is looked up; alpha is dropped;
///  - of 16-bit colour the upper byte is taken, while 16-bit grey stops at 255;
///  - CMYK and YCCK are taken for Adobe's inverted kind: with N = 255 - K red is
///    N - round(C N / 255), green and blue alike;
///  - orientation (EXIF), gamma and colour profiles play no part.
///
/// With `least_side` above 0 a JPEG is decoded at a half, a quarter or an eighth of its size
/// (by its cosine transform, which saves most of the work) as long as its shorter side keeps
/// at least so many pixels: for images that are made smaller anyway. The pixels are then
/// close to those of the whole image made smaller, but not the same.
///
/// A JPEG whose data break off or do not decode is an error, where Pillow's library would
/// go on with grey.
///
/// @throws BadFile  an empty or cut off file, damaged data, another format, more than
///                  `MostPixels`; names the file and the reason. `image` is then undefined
///
/// May be called from many threads at a time.
void decode_image(const std::filesystem::path& path, Image& image, int least_side = 0);

/// The same from memory; `name` is what errors call it.
void decode_image(std::span<const std::uint8_t> bytes, std::string_view name, Image& image,
                  int least_side = 0);

/// Whether the name ends in one of the extensions of images, in upper or lower case:
/// .jpg .jpeg .png .ppm .bmp .pgm .tif .tiff .webp. Only JPEG and PNG are decoded.
[[nodiscard]] bool has_image_extension(const std::filesystem::path& path);

}  // namespace rcap
