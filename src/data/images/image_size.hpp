#pragma once

#include <cstdint>
#include <string_view>

namespace rcap {

/// Refuses what a header claims before memory is taken for it.
/// @throws BadFile  if the image has no pixel or more than `MostPixels`; names it
void check_image_size(std::string_view name, std::uint64_t height, std::uint64_t width);

}  // namespace rcap
