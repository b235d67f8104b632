#include "rcap/data/resize_image.hpp"

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
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

Bytes resized(const Image& image, int height, int width) {
  Image result;
  resize_image(image.view(), height, width, result);
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
              HasSubstr("the height is 0; it lies in 1 .. 65535"));
  EXPECT_THAT(message_of<InvalidArgument>([&] { (void)resized(image, 4, 70000); }),
              HasSubstr("the width is 70000"));
  EXPECT_THAT(message_of<InvalidArgument>([&] { (void)resized(Image{}, 4, 4); }),
              HasSubstr("the source's height is 0"));
  EXPECT_THAT(message_of<InvalidArgument>([&] { (void)resized(counting_image(2, 2, 2), 4, 4); }),
              HasSubstr("has 2 channels; it has 1 or 3"));
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
