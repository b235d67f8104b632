#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "data/images/image.hpp"

/// The parts of `decode_image`.
namespace rcap {

/// Decodes the bytes of a JPEG file.
void decode_jpeg(std::span<const std::uint8_t> bytes, std::string_view name, Image& image,
                 int least_side);

/// Decodes the bytes of a PNG file.
void decode_png(std::span<const std::uint8_t> bytes, std::string_view name, Image& image);

/// Refuses what a header claims before memory is allocated for it.
/// @throws BadFile  if the image has no pixel or more than `MostPixels`; names it
void check_image_size(std::string_view name, std::uint64_t height, std::uint64_t width);

}  // namespace rcap
