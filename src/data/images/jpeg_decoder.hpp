#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "data/images/image.hpp"

namespace rcap {

/// Decodes the bytes of a JPEG file; see `decode_image`.
void decode_jpeg(std::span<const std::uint8_t> bytes, std::string_view name, Image& image,
                 int least_side);

}  // namespace rcap
