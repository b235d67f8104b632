// JPEG and PNG images, whole and at a fraction of their size. Inputs that claim more than
// 128 x 128 pixels are passed over: they only cost time, up to a tenth of a second each.
#include <array>
#include <vector>

#include <zlib.h>

#include "data/images/decode_image.hpp"
#include "fuzz/fuzz_input.hpp"

using namespace rcap;

namespace {

constexpr std::uint64_t MostFuzzedPixels = 1 << 14;
constexpr std::size_t PngSignatureBytes = 8;
constexpr std::size_t PngChunkBytes = 12;  ///< length, type and checksum

std::uint32_t number_at(fuzz::Input bytes, std::size_t offset, std::size_t width) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < width; ++i) number = number << 8 | bytes[offset + i];
  return number;
}

/// Whether a size stands anywhere that would take long to decode.
bool is_large(fuzz::Input bytes) {
  if (bytes.size() >= 24 && bytes[0] == 0x89) {
    return std::uint64_t{number_at(bytes, 16, 4)} * number_at(bytes, 20, 4) > MostFuzzedPixels;
  }
  // A frame of a JPEG: FF, C0 to CF, length (2 bytes), depth (1), height (2), width (2).
  for (std::size_t i = 0; i + 9 <= bytes.size(); ++i) {
    if (bytes[i] != 0xFF || (bytes[i + 1] & 0xF0) != 0xC0) continue;
    if (std::uint64_t{number_at(bytes, i + 5, 2)} * number_at(bytes, i + 7, 2) > MostFuzzedPixels) {
      return true;
    }
  }
  return false;
}

/// Puts the checksums of a PNG right, which would end the reading at the first change.
void mend_png(std::vector<std::uint8_t>& bytes) {
  for (std::size_t at = PngSignatureBytes; at + PngChunkBytes <= bytes.size();) {
    const std::size_t length = number_at(bytes, at, 4);
    if (length > bytes.size() - at - PngChunkBytes) return;
    const auto checksum = ::crc32(0, bytes.data() + at + 4, static_cast<uInt>(length + 4));
    const std::size_t end = at + 8 + length;
    for (std::size_t i = 0; i < 4; ++i) {
      bytes[end + i] = static_cast<std::uint8_t>(checksum >> (24 - 8 * i));
    }
    at = end + 4;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint8_t> bytes(data, data + size);
  if (is_large(bytes)) return 0;
  if (!bytes.empty() && bytes[0] == 0x89) mend_png(bytes);
  Image image;
  for (const int least_side : {0, 8}) {
    fuzz::read_or_refuse([&] {
      decode_image(bytes, "input", image, least_side);
      fuzz::touch(std::span<const std::uint8_t>(image.pixels));
    });
  }
  return 0;
}
