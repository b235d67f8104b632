#include "data/images/decode_image.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string>
#include <vector>

#include "data/images/decoders.hpp"
#include "io/payload_reader.hpp"
#include "io/refuse_file.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;
using namespace std::string_view_literals;

constexpr std::uint64_t MostFileBytes = std::uint64_t{1} << 30;

constexpr std::array ImageExtensions{".jpg"sv, ".jpeg"sv, ".png"sv,  ".ppm"sv, ".bmp"sv,
                                     ".pgm"sv, ".tif"sv,  ".tiff"sv, ".webp"sv};

constexpr std::string_view JpegMagic = "\xff\xd8\xff";
constexpr std::string_view PngMagic = "\x89PNG\r\n\x1a\n";

struct OtherFormat {
  std::string_view magic;
  std::string_view name;
};

/// Formats that are recognised only to name them.
constexpr std::array OtherFormats{
    OtherFormat{"BM", "a BMP image"},       OtherFormat{"II*\0"sv, "a TIFF image"},
    OtherFormat{"MM\0*"sv, "a TIFF image"}, OtherFormat{"RIFF", "a WebP image"},
    OtherFormat{"GIF8", "a GIF image"},     OtherFormat{"P1", "a PBM image"},
    OtherFormat{"P2", "a PGM image"},       OtherFormat{"P3", "a PPM image"},
    OtherFormat{"P4", "a PBM image"},       OtherFormat{"P5", "a PGM image"},
    OtherFormat{"P6", "a PPM image"},
};

[[noreturn]] void refuse_format(std::string_view start, std::string_view name) {
  std::string_view kind = "neither a JPEG nor a PNG image";
  for (const OtherFormat& format : OtherFormats) {
    if (start.starts_with(format.magic)) kind = format.name;
  }
  refuse_file(name, "is {}; only JPEG and PNG are decoded; convert or remove it", kind);
}

}  // namespace

void check_image_size(std::string_view name, std::uint64_t height, std::uint64_t width) {
  // Both come from fields of 16 or 32 bits, so the product fits.
  if (height != 0 && width != 0 && height * width <= static_cast<std::uint64_t>(MostPixels)) return;
  refuse_file(name, "its header claims {} x {} pixels; an image must have between 1 and {}", width,
              height, MostPixels);
}

void decode_image(std::span<const std::uint8_t> bytes, std::string_view name, Image& image,
                  int least_side) {
  if (bytes.empty()) refuse_file(name, "is empty; an image was expected");
  const std::string_view start(reinterpret_cast<const char*>(bytes.data()),
                               std::min<std::size_t>(bytes.size(), 16));
  if (start.starts_with(JpegMagic)) return decode_jpeg(bytes, name, image, least_side);
  if (start.starts_with(PngMagic)) return decode_png(bytes, name, image);
  refuse_format(start, name);
}

void decode_image(const fs::path& path, Image& image, int least_side) {
  const std::vector<std::uint8_t> bytes = read_file(path, MostFileBytes);
  decode_image(bytes, path.string(), image, least_side);
}

bool has_image_extension(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(ImageExtensions.begin(), ImageExtensions.end(), extension) !=
         ImageExtensions.end();
}

}  // namespace rcap
