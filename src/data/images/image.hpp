#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rcap {

struct ImageShape {
  int height = 0;
  int width = 0;
  int channels = 0;

  bool operator==(const ImageShape&) const = default;
};

/// An 8-bit image that someone else owns: rows from top to bottom without gaps, the channels of a
/// pixel side by side (as in Pillow and the decoders).
struct ImageView {
  const std::uint8_t* pixels = nullptr;
  int height = 0;
  int width = 0;
  int channels = 0;  ///< 1 (grey) or 3 (red, green, blue)

  [[nodiscard]] std::size_t bytes() const noexcept {
    return static_cast<std::size_t>(height) * static_cast<std::size_t>(width) *
           static_cast<std::size_t>(channels);
  }
  [[nodiscard]] ImageShape shape() const noexcept { return {height, width, channels}; }
};

/// An image that owns its pixels. Assigning another size reuses the memory.
struct Image {
  std::vector<std::uint8_t> pixels;
  int height = 0;
  int width = 0;
  int channels = 0;

  [[nodiscard]] ImageView view() const noexcept { return {pixels.data(), height, width, channels}; }
  void resize(int new_height, int new_width, int new_channels) {
    height = new_height;
    width = new_width;
    channels = new_channels;
    pixels.resize(view().bytes());
  }
};

}  // namespace rcap
