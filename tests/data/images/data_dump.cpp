#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <string_view>

#include "data/images/decode_image.hpp"
#include "data/images/resize_image.hpp"
#include "data/images/transform.hpp"
#include "data/images/trivial_augment.hpp"

namespace rcap {
namespace {

using Arguments = std::span<char* const>;

Interpolation interpolation_of(std::string_view name) {
  return name == "bicubic" ? Interpolation::Bicubic : Interpolation::Bilinear;
}

void print(const Image& image) { std::fwrite(image.pixels.data(), 1, image.pixels.size(), stdout); }

void print_with_size(const Image& image) {
  std::fprintf(stderr, "%d %d\n", image.height, image.width);
  print(image);
}

void dump_resized(const Image& image, ImageShape shape, std::string_view interpolation) {
  Image resized;
  resize_image(image.view(), shape.height, shape.width, resized, interpolation_of(interpolation));
  print_with_size(resized);
}

/// What evaluation makes of it, as levels again.
void dump_evaluated(const Image& image, Arguments sizes, std::string_view interpolation) {
  const Transform transform({.center_crop = std::stoi(sizes[0]),
                             .resize = std::stoi(sizes[1]),
                             .interpolation = interpolation_of(interpolation),
                             .crop = std::stoi(sizes[2]),
                             .normalization = {{0, 0, 0}, {1, 1, 1}}});
  const ImageShape shape = transform.output_shape({image.height, image.width, image.channels});
  Image levels;
  levels.resize(shape.height, shape.width, shape.channels);
  std::vector<float> numbers(levels.pixels.size());
  Transform::Scratch scratch;
  transform.apply(image.view(), std::nullopt, scratch, numbers.data());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    levels.pixels[i] = static_cast<std::uint8_t>(numbers[i] * 255 + 0.5F);
  }
  print_with_size(levels);
}

/// Every operation, with every bin and both directions where it has them.
void dump_augmented(const Image& image) {
  Image augmented;
  for (int number = 0; number < AugmentOperationCount; ++number) {
    const auto operation = static_cast<AugmentOperation>(number);
    for (int bin = 0; bin < (has_bins(operation) ? AugmentBinCount : 1); ++bin) {
      for (int negative = 0; negative <= (is_signed(operation) ? 1 : 0); ++negative) {
        augment(image.view(), {operation, bin, negative == 1}, augmented);
        print(augmented);
      }
    }
  }
}

Image first_channel(const Image& image) {
  Image grey;
  grey.resize(image.height, image.width, 1);
  for (std::size_t i = 0; i < grey.pixels.size(); ++i) grey.pixels[i] = image.pixels[3 * i];
  return grey;
}

int dump(Arguments arguments) {
  Image image;
  decode_image(arguments[0], image);
  const std::string_view action = arguments.size() > 1 ? arguments[1] : "";
  if (arguments.size() == 1) {
    print_with_size(image);
  } else if (action == "resize" && arguments.size() == 5) {
    dump_resized(image, {std::stoi(arguments[2]), std::stoi(arguments[3]), 3}, arguments[4]);
  } else if (action == "shorter_side" && arguments.size() == 4) {
    const ImageShape shape{image.height, image.width, 3};
    dump_resized(image, with_shorter_side(shape, std::stoi(arguments[2])), arguments[3]);
  } else if (action == "evaluate" && arguments.size() == 6) {
    dump_evaluated(image, arguments.subspan(2, 3), arguments[5]);
  } else if (action == "augment" && arguments.size() == 3) {
    dump_augmented(std::string_view(arguments[2]) == "grey" ? first_channel(image) : image);
  } else {
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace rcap

/// Prints the raw pixels that a test in another language compares with its own:
///
///     data_dump FILE                                            decoded
///     data_dump FILE resize HEIGHT WIDTH bilinear|bicubic       and resized
///     data_dump FILE shorter_side SIDE bilinear|bicubic         and resized in proportion
///     data_dump FILE evaluate CENTER RESIZE CROP bilinear|bicubic     and transformed
///     data_dump FILE augment grey|colour                        and augmented in all ways
///
/// On standard error, but for the last: height and width.
int main(int argc, char** argv) try {
  if (argc < 2) return 2;
  return rcap::dump({argv + 1, static_cast<std::size_t>(argc) - 1});
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
