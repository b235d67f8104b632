#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstring>
#include <vector>

#include <png.h>

#include "data/images/decoders.hpp"
#include "io/refuse_file.hpp"

namespace rcap {
namespace {

/// How samples are laid out in a row, and what they stand for.
struct RowFormat {
  int color_type = 0;
  std::size_t channels = 0;
  std::size_t sample_bytes = 0;
  std::array<png_color, 256> palette{};  ///< entries that the file leaves out are black

  /// Converts one row to red, green and blue.
  void convert(const std::uint8_t* row, std::size_t width, std::uint8_t* pixels) const {
    const bool saturates = color_type == PNG_COLOR_TYPE_GRAY && sample_bytes == 2;
    for (std::size_t x = 0; x < width; ++x, pixels += 3) {
      const std::uint8_t* sample = row + x * channels * sample_bytes;
      if (color_type == PNG_COLOR_TYPE_PALETTE) {
        const png_color& color = palette[*sample];
        pixels[0] = color.red, pixels[1] = color.green, pixels[2] = color.blue;
      } else if (saturates) {
        std::fill_n(pixels, 3, sample[0] == 0 ? sample[1] : std::uint8_t{255});
      } else if (channels < 3) {
        std::fill_n(pixels, 3, *sample);
      } else {
        // The upper byte comes first.
        for (std::size_t i = 0; i < 3; ++i) pixels[i] = sample[i * sample_bytes];
      }
    }
  }
};

/// As in jpeg_decoder.cpp, note [setjmp and C++]: functions that call setjmp have no variable that
/// needs a destructor.
class PngDecoder {
 public:
  explicit PngDecoder(std::span<const std::uint8_t> bytes) : left_(bytes) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, give_up, ignore_warning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, &info_, nullptr);
      throw std::bad_alloc();
    }
  }
  ~PngDecoder() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  /// @return false if libpng gave up, like the two below; `message` says why
  bool read_header() {
    if (setjmp(on_error_) != 0) return false;
    png_set_read_fn(png_, this, read_bytes);
    png_read_info(png_, info_);
    return true;
  }

  /// Decides how rows come out: whole bytes, grey scaled to 8 bits, 16 bits as they are.
  bool set_up_rows() {
    if (setjmp(on_error_) != 0) return false;
    if (color_type() == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png_);
    if (color_type() == PNG_COLOR_TYPE_PALETTE) png_set_packing(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }

  /// Row by row, with memory for one of them.
  bool read_rows(const RowFormat& format, std::uint8_t* row, std::uint8_t* pixels) {
    if (setjmp(on_error_) != 0) return false;
    for (std::size_t y = 0; y < height(); ++y) {
      png_read_row(png_, row, nullptr);
      format.convert(row, width(), pixels + y * width() * 3);
    }
    png_read_end(png_, nullptr);
    return true;
  }

  /// All rows at once, as interlaced images require.
  bool read_all_rows(png_bytepp rows) {
    if (setjmp(on_error_) != 0) return false;
    png_read_image(png_, rows);
    png_read_end(png_, nullptr);
    return true;
  }

  [[nodiscard]] RowFormat row_format() const {
    RowFormat format{color_type(),
                     png_get_channels(png_, info_),
                     std::size_t{png_get_bit_depth(png_, info_)} / 8,
                     {}};
    png_colorp given = nullptr;
    int count = 0;
    if (png_get_PLTE(png_, info_, &given, &count) != 0) {
      std::copy_n(given, std::min(count, 256), format.palette.begin());
    }
    return format;
  }

  [[nodiscard]] std::size_t height() const { return png_get_image_height(png_, info_); }
  [[nodiscard]] std::size_t width() const { return png_get_image_width(png_, info_); }
  [[nodiscard]] std::size_t row_bytes() const { return png_get_rowbytes(png_, info_); }
  [[nodiscard]] int color_type() const { return png_get_color_type(png_, info_); }
  [[nodiscard]] bool interlaced() const {
    return png_get_interlace_type(png_, info_) != PNG_INTERLACE_NONE;
  }
  [[nodiscard]] const char* message() const noexcept { return message_.data(); }

 private:
  [[noreturn]] static void give_up(png_structp png, png_const_charp reason) {
    auto* self = static_cast<PngDecoder*>(png_get_error_ptr(png));
    std::strncpy(self->message_.data(), reason, self->message_.size() - 1);
    std::longjmp(self->on_error_, 1);
  }
  static void ignore_warning(png_structp, png_const_charp) {}

  static void read_bytes(png_structp png, png_bytep out, std::size_t count) {
    auto* self = static_cast<PngDecoder*>(png_get_io_ptr(png));
    if (count > self->left_.size()) png_error(png, "the file ends early");
    std::copy_n(self->left_.begin(), count, out);
    self->left_ = self->left_.subspan(count);
  }

  std::span<const std::uint8_t> left_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::jmp_buf on_error_{};
  std::array<char, 200> message_{};
};

}  // namespace

void decode_png(std::span<const std::uint8_t> bytes, std::string_view name, Image& image) {
  PngDecoder decoder(bytes);
  const auto refuse = [&] {
    refuse_file(name, "the PNG data are truncated or damaged: {}; replace the file",
                decoder.message());
  };
  if (!decoder.read_header()) refuse();
  check_image_size(name, decoder.height(), decoder.width());
  if (!decoder.set_up_rows()) refuse();

  image.resize(static_cast<int>(decoder.height()), static_cast<int>(decoder.width()), 3);
  const RowFormat format = decoder.row_format();
  const std::size_t height = decoder.height(), row_bytes = decoder.row_bytes();
  std::vector<std::uint8_t> packed(row_bytes * (decoder.interlaced() ? height : 1));
  if (!decoder.interlaced()) {
    if (!decoder.read_rows(format, packed.data(), image.pixels.data())) refuse();
    return;
  }
  std::vector<png_bytep> rows(height);
  for (std::size_t y = 0; y < height; ++y) rows[y] = packed.data() + y * row_bytes;
  if (!decoder.read_all_rows(rows.data())) refuse();
  for (std::size_t y = 0; y < height; ++y) {
    format.convert(rows[y], decoder.width(), image.pixels.data() + y * decoder.width() * 3);
  }
}

}  // namespace rcap
