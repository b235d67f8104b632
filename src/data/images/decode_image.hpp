#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "data/images/image.hpp"

namespace rcap {

/// An image whose header claims more pixels than this is refused before memory is allocated.
inline constexpr std::int64_t MostPixels = 100'000'000;

/// Decodes a JPEG or PNG image to red, green and blue; `image` reuses its memory.
///
/// Its first bytes decide which of the two it is, never its name. The pixels are those of Pillow's
/// `Image.open(path).convert("RGB")`:
///
///  - grey becomes three equal channels; palettes are looked up; alpha is dropped;
///  - 16-bit colour keeps the upper byte, while 16-bit grey is cut at 255;
///  - CMYK and YCCK are assumed to be Adobe's inverted kind: with N = 255 - K, red is
///    N - round(C N / 255), and likewise green and blue;
///  - orientation (EXIF), gamma and colour profiles are ignored.
///
/// With `least_side` above 0 a JPEG is decoded at a half, a quarter or an eighth of its size (by
/// its cosine transform, which saves most of the work) as long as its shorter side keeps at least
/// that many pixels: for images that are to be made smaller anyway. The pixels are then close to
/// those of the full image made smaller, but not the same.
///
/// A JPEG whose data break off or do not decode is an error, whereas Pillow's library would
/// continue in grey.
///
/// @throws BadFile  an empty or truncated file, damaged data, another format, more than
///                  `MostPixels`; names the file and the reason. `image` is then undefined
///
/// May be called from many threads at once.
void decode_image(const std::filesystem::path& path, Image& image, int least_side = 0);

/// The same from memory; `name` stands for it in messages.
void decode_image(std::span<const std::uint8_t> bytes, std::string_view name, Image& image,
                  int least_side = 0);

/// Whether the name has one of the extensions of images, in upper or lower case:
/// .jpg .jpeg .png .ppm .bmp .pgm .tif .tiff .webp. Only JPEG and PNG are decoded.
[[nodiscard]] bool has_image_extension(const std::filesystem::path& path);

}  // namespace rcap
