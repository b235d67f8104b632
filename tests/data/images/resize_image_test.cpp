#include "data/images/resize_image.hpp"

#include <random>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "data/images/resize_across.hpp"
#include "data/sample_files.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

// That pixels equal Pillow's is tested by pillow_test.py.

Image image_of(int height, int width, int channels, const Bytes& pixels) {
  return {pixels, height, width, channels};
}

Bytes resized(const Image& image, int height, int width,
              Interpolation interpolation = Interpolation::Bilinear) {
  Image result;
  resize_image(image.view(), height, width, result, interpolation);
  EXPECT_EQ(result.pixels.size(), result.view().bytes());
  return result.pixels;
}

TEST(ResizeImage, AveragesWhatBecomesOnePixel) {
  // Halving: the triangle around a new pixel reaches 2 old ones to each side, with weights
  // 1 : 3 : 3 : 1; at the edge 3 : 3 : 1. (3 * 0 + 3 * 70 + 140) / 7 = 50, and mirrored.
  EXPECT_THAT(resized(image_of(1, 4, 1, {0, 70, 140, 210}), 1, 2), ElementsAre(50, 160));
  EXPECT_THAT(resized(image_of(4, 1, 1, {0, 70, 140, 210}), 2, 1), ElementsAre(50, 160));
}

TEST(ResizeImage, JoinsNeighboursWhereItGrows) {
  // New centres lie at 0.25, 0.75, 1.25 and 1.75 of the old pixels 0.5 and 1.5.
  EXPECT_THAT(resized(image_of(1, 2, 1, {0, 100}), 1, 4), ElementsAre(0, 25, 75, 100));
}

TEST(ResizeImage, BicubicOvershootsAtAnEdge) {
  // At a distance of 0.25, 0.75 and 1.25 weigh 0.8672, 0.2266 and -0.0703. At the sides
  // -0.0703 / 0.7969 of 100 is -8.8, cut off, and 108.8; between them 0.2266 / 1.0938 is 20.7.
  EXPECT_THAT(resized(image_of(1, 2, 1, {0, 100}), 1, 4, Interpolation::Bicubic),
              ElementsAre(0, 21, 79, 109));
  EXPECT_THAT(resized(image_of(2, 1, 1, {0, 100}), 4, 1, Interpolation::Bicubic),
              ElementsAre(0, 21, 79, 109));
}

TEST(ResizeImage, KeepsChannelsApart) {
  EXPECT_THAT(resized(image_of(1, 2, 3, {0, 10, 20, 100, 110, 120}), 1, 4),
              ElementsAre(0, 10, 20, 25, 35, 45, 75, 85, 95, 100, 110, 120));
}

TEST(ResizeImage, LeavesAnEvenImageEven) {
  const Image white = image_of(37, 53, 3, Bytes(37 * 53 * 3, 255));
  for (const auto& [height, width] : {std::pair{5, 7}, {100, 200}, {1, 1}, {37, 9}, {80, 53}}) {
    EXPECT_THAT(resized(white, height, width), Each(255));
  }
}

TEST(ResizeImage, CopiesWhereTheSizeStays) {
  const Image image = counting_image(5, 4, 3);
  EXPECT_EQ(resized(image, 5, 4), image.pixels);
}

TEST(ResizeImage, RefusesSizesAndChannelsOutOfRange) {
  const Image image = counting_image(5, 4, 3);
  EXPECT_THAT(message_of<InvalidArgument>([&] { (void)resized(image, 0, 4); }),
              HasSubstr("the height is 0; it must lie between 1 and 65535"));
  EXPECT_THAT(message_of<InvalidArgument>([&] { (void)resized(image, 4, 70000); }),
              HasSubstr("the width is 70000"));
  EXPECT_THAT(message_of<InvalidArgument>([&] { (void)resized(Image{}, 4, 4); }),
              HasSubstr("the source's height is 0"));
  EXPECT_THAT(message_of<InvalidArgument>([&] { (void)resized(counting_image(2, 2, 2), 4, 4); }),
              HasSubstr("has 2 channels; it must have 1 or 3"));
}

/// Noise with many levels at the ends, where sums must be cut off.
Image noise(int height, int width, int channels, std::mt19937& random) {
  Image image;
  image.resize(height, width, channels);
  std::uniform_int_distribution<int> level(-200, 455);
  for (std::uint8_t& pixel : image.pixels) {
    pixel = static_cast<std::uint8_t>(std::clamp(level(random), 0, 255));
  }
  return image;
}

Bytes part_of(const Image& image, const ImageWindow& window) {
  Bytes bytes;
  for (int row = window.top; row < window.top + window.height; ++row) {
    const auto begin = image.pixels.begin() + (row * image.width + window.left) * image.channels;
    bytes.insert(bytes.end(), begin, begin + window.width * image.channels);
  }
  return bytes;
}

TEST(ImageResizer, GivesThePartOfTheWholeThatTheWindowHolds) {
  ImageResizer resizer;  // one for all: nothing of an image before may be left
  Image whole;
  Image part;
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const auto between = [&](int least, int most) {
      return std::uniform_int_distribution<int>(least, most)(random);
    };
    const Image image = noise(between(1, 70), between(1, 70), seed % 3 == 0 ? 1 : 3, random);
    // Every eighth keeps its height, every eighth its width.
    const int height = seed % 8 == 1 ? image.height : between(1, 70);
    const int width = seed % 8 == 2 ? image.width : between(1, 70);
    const auto interpolation = seed % 2 == 0 ? Interpolation::Bilinear : Interpolation::Bicubic;
    ImageWindow window{between(0, height - 1), between(0, width - 1)};
    window.height = between(0, height - window.top);
    window.width = between(0, width - window.left);
    resize_image(image.view(), height, width, whole, interpolation);
    resizer.resize(image.view(), height, width, window, interpolation, part);
    ASSERT_EQ(part.height, window.height);
    ASSERT_EQ(part.width, window.width);
    ASSERT_EQ(part.pixels, part_of(whole, window));
  }
}

TEST(ImageResizer, RefusesAWindowOutside) {
  const Image image = counting_image(5, 4, 3);
  const auto resize = [&](const ImageWindow& window) {
    Image result;
    ImageResizer().resize(image.view(), 10, 8, window, Interpolation::Bilinear, result);
  };
  EXPECT_THAT(message_of<InvalidArgument>([&] { resize({.top = 6, .height = 5, .width = 1}); }),
              HasSubstr("the window begins at row 6 and has 5; the result has 10"));
  EXPECT_THAT(message_of<InvalidArgument>([&] { resize({.left = -1, .height = 5, .width = 1}); }),
              HasSubstr("the window begins at column -1 and has 1; the result has 8"));
}

TEST(AcrossResizer, VectorsEqualPlainCode) {
  if (AcrossResizer::best_code() == AcrossResizer::Code::Plain) GTEST_SKIP() << "no vectors here";
  AcrossResizer plain;
  AcrossResizer vectors;
  ResizeWeights weights;
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    std::uniform_int_distribution<int> side(1, 90);
    const Image image = noise(side(random) % 11 + 1, side(random), 3, random);
    const int width = side(random);
    const auto interpolation = seed % 2 == 0 ? Interpolation::Bilinear : Interpolation::Bicubic;
    weights.make(image.width, width, 0, width, interpolation);
    const auto rows_of = [&](AcrossResizer& resizer, AcrossResizer::Code code) {
      const PixelRows rows =
          resizer.resize(image.pixels.data(), static_cast<std::size_t>(image.height),
                         static_cast<std::size_t>(image.width), 3, weights, code);
      Bytes bytes;
      for (int row = 0; row < image.height; ++row) {
        const std::uint8_t* const begin =
            rows.pixels + static_cast<std::size_t>(row) * rows.row_bytes;
        bytes.insert(bytes.end(), begin, begin + width * 3);
      }
      return bytes;
    };
    ASSERT_EQ(rows_of(vectors, AcrossResizer::Code::Vector),
              rows_of(plain, AcrossResizer::Code::Plain));
  }
}

TEST(WithShorterSide, RoundsTheLongerSideDown) {
  EXPECT_EQ(with_shorter_side({480, 640, 3}, 256), (ImageShape{256, 341, 3}));  // 341.33
  EXPECT_EQ(with_shorter_side({640, 480, 1}, 256), (ImageShape{341, 256, 1}));
  EXPECT_EQ(with_shorter_side({500, 375, 3}, 256), (ImageShape{341, 256, 3}));
  EXPECT_EQ(with_shorter_side({20, 20, 3}, 7), (ImageShape{7, 7, 3}));
  EXPECT_THAT(message_of<InvalidArgument>([] {
                (void)with_shorter_side({2, 2, 3}, 0);
              }),
              HasSubstr("the shorter side is 0"));
}

}  // namespace
}  // namespace rcap
