#include <cstdio>
#include <exception>
#include <string>

#include "rcap/data/decode_image.hpp"
#include "rcap/data/resize_image.hpp"

/// Prints the raw pixels that a test in another language compares with its own:
///
///     data_dump FILE                  decoded
///     data_dump FILE HEIGHT WIDTH     decoded and resized
///     data_dump FILE SIDE             decoded and resized to that shorter side
///
/// On standard error: height and width.
int main(int argc, char** argv) try {
  using namespace rcap;
  if (argc < 2 || argc > 4) return 2;
  Image image;
  decode_image(argv[1], image);
  if (argc > 2) {
    const int first = std::stoi(argv[2]);
    const ImageShape shape = argc == 4 ? ImageShape{first, std::stoi(argv[3]), 3}
                                       : with_shorter_side({image.height, image.width, 3}, first);
    Image resized;
    resize_image(image.view(), shape.height, shape.width, resized);
    image = std::move(resized);
  }
  std::fprintf(stderr, "%d %d\n", image.height, image.width);
  std::fwrite(image.pixels.data(), 1, image.pixels.size(), stdout);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
