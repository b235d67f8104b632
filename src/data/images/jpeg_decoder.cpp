#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <vector>

// Needs <cstdio> and <cstddef> before it.
#include <jpeglib.h>
// Names the warnings; needs jpeglib.h before it.
#include <jerror.h>

#include "data/images/decoders.hpp"
#include "io/refuse_file.hpp"

namespace rcap {
namespace {

/// Note [setjmp and C++]: libjpeg reports an error through a function that must not return, so ours
/// jumps back to where libjpeg was called. A jump skips destructors. Therefore each function below
/// that calls setjmp has only local variables of trivial types, and whatever owns memory belongs to
/// its caller.
class JpegDecoder {
 public:
  explicit JpegDecoder(std::span<const std::uint8_t> bytes) : bytes_(bytes) {
    decoder_.err = jpeg_std_error(&handler_);
    decoder_.client_data = this;
    handler_.error_exit = give_up;
    handler_.emit_message = take_warning;
  }
  ~JpegDecoder() { jpeg_destroy_decompress(&decoder_); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  /// @return false if libjpeg gave up, like those below; `message` says why
  bool read_header() {
    if (setjmp(on_error_) != 0) return false;
    jpeg_create_decompress(&decoder_);
    jpeg_mem_src(&decoder_, bytes_.data(), static_cast<unsigned long>(bytes_.size()));
    jpeg_read_header(&decoder_, TRUE);
    return true;
  }

  /// Chooses the size to decode at: an eighth, a quarter or half of the whole if the shorter
  /// side then still has `least_side` pixels, which are more than 0.
  bool choose_size(int least_side) {
    if (setjmp(on_error_) != 0) return false;
    const std::size_t shorter = std::min(decoder_.image_height, decoder_.image_width);
    decoder_.scale_num = decoder_.scale_denom = 8;
    while (least_side > 0 && decoder_.scale_num > 1 &&
           shorter * (decoder_.scale_num / 2) >= static_cast<std::size_t>(least_side) * 8) {
      decoder_.scale_num /= 2;
    }
    jpeg_calc_output_dimensions(&decoder_);
    return true;
  }

  /// Red, green and blue, straight into the image.
  bool read_rgb(std::uint8_t* pixels) {
    if (setjmp(on_error_) != 0) return false;
    decoder_.out_color_space = JCS_RGB;
    jpeg_start_decompress(&decoder_);
    while (decoder_.output_scanline < decoder_.output_height) {
      JSAMPROW row = pixels + std::size_t{decoder_.output_scanline} * decoder_.output_width * 3;
      jpeg_read_scanlines(&decoder_, &row, 1);
    }
    jpeg_finish_decompress(&decoder_);
    return true;
  }

  /// Four inks, one row at a time.
  bool read_cmyk(std::uint8_t* pixels, std::uint8_t* inks) {
    if (setjmp(on_error_) != 0) return false;
    decoder_.out_color_space = JCS_CMYK;
    jpeg_start_decompress(&decoder_);
    while (decoder_.output_scanline < decoder_.output_height) {
      const std::size_t row = decoder_.output_scanline;
      jpeg_read_scanlines(&decoder_, &inks, 1);
      convert_row(inks, decoder_.output_width, pixels + row * decoder_.output_width * 3);
    }
    jpeg_finish_decompress(&decoder_);
    return true;
  }

  [[nodiscard]] std::size_t height() const noexcept { return decoder_.image_height; }
  [[nodiscard]] std::size_t width() const noexcept { return decoder_.image_width; }
  /// After `choose_size`.
  [[nodiscard]] std::size_t output_height() const noexcept { return decoder_.output_height; }
  [[nodiscard]] std::size_t output_width() const noexcept { return decoder_.output_width; }
  [[nodiscard]] bool has_inks() const noexcept { return decoder_.num_components == 4; }
  [[nodiscard]] const char* message() const noexcept { return message_.data(); }

 private:
  [[noreturn]] static void give_up(j_common_ptr common) {
    auto* self = static_cast<JpegDecoder*>(common->client_data);
    common->err->format_message(common, self->message_.data());
    std::longjmp(self->on_error_, 1);
  }

  /// libjpeg only warns when it invents pixels. The other warnings leave the pixels right and are
  /// common in photographs, such as extra bytes between two markers.
  static void take_warning(j_common_ptr common, int level) {
    if (level >= 0) return;
    switch (common->err->msg_code) {
      case JWRN_HIT_MARKER:
      case JWRN_JPEG_EOF:
      case JWRN_HUFF_BAD_CODE:
      case JWRN_ARITH_BAD_CODE:
      case JWRN_MUST_RESYNC:
        give_up(common);
      default:
        break;
    }
  }

  /// a * b / 255, rounded, in integers.
  static unsigned scaled(unsigned a, unsigned b) {
    const unsigned product = a * b + 128;
    return (product + (product >> 8)) >> 8;
  }

  /// Adobe stores 255 - ink, so what is read is the light that each ink lets through.
  static void convert_row(const std::uint8_t* inks, std::size_t width, std::uint8_t* pixels) {
    for (std::size_t x = 0; x < width; ++x) {
      const unsigned light = inks[4 * x + 3];
      for (std::size_t channel = 0; channel < 3; ++channel) {
        const unsigned ink = 255U - inks[4 * x + channel];
        pixels[3 * x + channel] = static_cast<std::uint8_t>(light - scaled(ink, light));
      }
    }
  }

  std::span<const std::uint8_t> bytes_;
  jpeg_decompress_struct decoder_{};
  jpeg_error_mgr handler_{};
  std::jmp_buf on_error_{};
  std::array<char, JMSG_LENGTH_MAX> message_{};
};

}  // namespace

void decode_jpeg(std::span<const std::uint8_t> bytes, std::string_view name, Image& image,
                 int least_side) {
  JpegDecoder decoder(bytes);
  const auto refuse = [&] {
    refuse_file(name, "the JPEG data are truncated or damaged: {}; replace the file",
                decoder.message());
  };
  if (!decoder.read_header()) refuse();
  check_image_size(name, decoder.height(), decoder.width());
  if (!decoder.choose_size(least_side)) refuse();
  image.resize(static_cast<int>(decoder.output_height()), static_cast<int>(decoder.output_width()),
               3);
  if (decoder.has_inks()) {
    std::vector<std::uint8_t> inks(decoder.output_width() * 4);
    if (!decoder.read_cmyk(image.pixels.data(), inks.data())) refuse();
  } else if (!decoder.read_rgb(image.pixels.data())) {
    refuse();
  }
}

}  // namespace rcap
