#include "data/images/decode_image.hpp"

#include <algorithm>
#include <cstdlib>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "data/sample_files.hpp"
#include "rcap/core/error.hpp"
#include "temporary_folder.hpp"

namespace rcap {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// That pixels equal Pillow's is tested by pillow_test.py.

Image decode(const Bytes& bytes) {
  Image image;
  decode_image(bytes, "x", image);
  return image;
}

std::string refusal(const Bytes& bytes) {
  return message_of<BadFile>([&] { (void)decode(bytes); });
}

Bytes start_of(const Bytes& bytes, std::size_t count) {
  return Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
}

TEST(DecodeImage, ReadsPngExactlyAndJpegClosely) {
  Image image;
  image.resize(20, 30, 3);
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    image.pixels[i] = static_cast<std::uint8_t>(i / 90 * 5 + 20 * (i % 3));  // rows get lighter
  }
  EXPECT_EQ(decode(encode_png(image)).pixels, image.pixels);
  const Image jpeg = decode(encode_jpeg(image, 100));
  ASSERT_EQ(jpeg.pixels.size(), image.pixels.size());
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    ASSERT_LE(std::abs(jpeg.pixels[i] - image.pixels[i]), 6) << i;
  }
}

TEST(DecodeImage, MakesThreeChannelsOfGrey) {
  const Image grey = counting_image(1, 3, 1);
  EXPECT_THAT(decode(encode_png(grey)).pixels, ElementsAre(0, 0, 0, 1, 1, 1, 2, 2, 2));
  const Image even{Bytes(64, 100), 8, 8, 1};
  EXPECT_THAT(decode(encode_jpeg(even, 100)).pixels, AllOf(SizeIs(192), Each(100)));
}

TEST(DecodeImage, GoesByTheContentsNotByTheName) {
  const TemporaryFolder folder;
  put_file(folder / "photo.JPEG", encode_png(counting_image(2, 3, 3)));
  Image image;
  decode_image(folder / "photo.JPEG", image);
  EXPECT_EQ(image.pixels, counting_image(2, 3, 3).pixels);
}

TEST(DecodeImage, UsesTheMemoryOfALargerImageAgain) {
  Image image = counting_image(100, 100, 3);
  const std::uint8_t* memory = image.pixels.data();
  decode_image(encode_png(counting_image(2, 3, 3)), "x", image);
  EXPECT_EQ(image.pixels.data(), memory);
  EXPECT_EQ(image.view().bytes(), 18U);
}

TEST(DecodeImage, RefusesEmptyAndMissingFiles) {
  const TemporaryFolder folder;
  put_file(folder / "empty.jpg", Bytes{});
  Image image;
  EXPECT_THAT(message_of<BadFile>([&] { decode_image(folder / "empty.jpg", image); }),
              HasSubstr("empty.jpg: is empty"));
  EXPECT_THAT(message_of<BadFile>([&] { decode_image(folder / "none.jpg", image); }),
              HasSubstr("none.jpg: there is no such file"));
}

TEST(DecodeImage, RefusesOtherFormatsByName) {
  const auto padded = [](std::string_view start) {
    Bytes bytes(start.begin(), start.end());
    bytes.resize(64);
    return bytes;
  };
  EXPECT_THAT(refusal(padded("BM")), HasSubstr("x: is a BMP image; only JPEG and PNG are decoded"));
  EXPECT_THAT(refusal(padded("RIFF....WEBP")), HasSubstr("a WebP image"));
  EXPECT_THAT(refusal(padded("II*")), HasSubstr("a TIFF image"));
  EXPECT_THAT(refusal(padded("P6 1 1 255 ")), HasSubstr("a PPM image"));
  EXPECT_THAT(refusal(padded("GIF89a")), HasSubstr("a GIF image"));
  EXPECT_THAT(refusal(padded("<html>")), HasSubstr("neither a JPEG nor a PNG image; only JPEG"));
}

TEST(DecodeImage, RefusesEveryTruncation) {
  Image image = counting_image(40, 40, 3);
  for (std::size_t i = 0; i < image.pixels.size(); i += 7) image.pixels[i] ^= 0x5a;
  for (const Bytes& whole : {encode_jpeg(image), encode_png(image)}) {
    for (std::size_t count = 1; count < whole.size(); count += count < 700 ? 1 : 23) {
      EXPECT_THAT(refusal(start_of(whole, count)),
                  AnyOf(HasSubstr("truncated or damaged"), HasSubstr("only JPEG and PNG")))
          << count << " of " << whole.size();
    }
    // The end of the image is told by a marker of its own.
    EXPECT_THAT(refusal(start_of(whole, whole.size() - 1)), HasSubstr("truncated or damaged"));
  }
}

TEST(DecodeImage, TellsWhatTheLibrarySays) {
  const Bytes jpeg = encode_jpeg(counting_image(64, 64, 3));
  EXPECT_THAT(refusal(start_of(jpeg, jpeg.size() / 2)),
              AllOf(HasSubstr("x: the JPEG data are truncated or damaged: Premature end of JPEG"),
                    HasSubstr("replace the file")));
  Bytes png = encode_png(counting_image(64, 64, 3));
  png[png.size() / 2] ^= 0xff;
  EXPECT_THAT(refusal(png), HasSubstr("x: the PNG data are truncated or damaged: "));
}

TEST(DecodeImage, SurvivesFlippedBytes) {
  // Damage that the formats cannot show gives other pixels; all other gives BadFile.
  for (const Bytes& whole :
       {encode_jpeg(counting_image(24, 24, 3)), encode_png(counting_image(24, 24, 3))}) {
    for (std::size_t i = 0; i < whole.size(); ++i) {
      for (const int flip : {0x01, 0x80, 0xff}) {
        Bytes damaged = whole;
        damaged[i] = static_cast<std::uint8_t>(damaged[i] ^ flip);
        Image image;
        try {
          decode_image(damaged, "x", image);
          EXPECT_EQ(image.pixels.size(), image.view().bytes());
        } catch (const BadFile&) {
        }
      }
    }
  }
}

TEST(DecodeImage, RefusesHeadersThatClaimTooMuchBeforeTakingMemory) {
  EXPECT_THAT(
      refusal(png_header_of(30000, 30000)),
      HasSubstr(
          "x: its header claims 30000 x 30000 pixels; an image must have between 1 and 100000000"));
  EXPECT_THAT(refusal(png_header_of(1, 100'000'001)),
              HasSubstr("truncated or damaged"));  // libpng's
  Bytes jpeg = encode_jpeg(counting_image(8, 8, 3));
  const std::uint8_t frame_header[] = {0xff, 0xc0};
  const auto frame =
      std::search(jpeg.begin(), jpeg.end(), std::begin(frame_header), std::end(frame_header));
  ASSERT_NE(frame, jpeg.end());
  for (const int field : {5, 7}) {  // 30,000 = 0x7530
    frame[field] = 0x75;
    frame[field + 1] = 0x30;
  }
  EXPECT_THAT(refusal(jpeg), HasSubstr("x: its header claims 30000 x 30000 pixels"));
}

TEST(DecodeImage, DecodesAtAFractionThatKeepsTheLeastSide) {
  const Bytes jpeg = encode_jpeg(counting_image(120, 200, 3));
  const auto size = [&](int least_side) {
    Image image;
    decode_image(jpeg, "x", image, least_side);
    EXPECT_EQ(image.pixels.size(), image.view().bytes());
    return std::pair(image.height, image.width);
  };
  EXPECT_EQ(size(0), std::pair(120, 200));
  EXPECT_EQ(size(121), std::pair(120, 200));  // never larger than it is
  EXPECT_EQ(size(61), std::pair(120, 200));
  EXPECT_EQ(size(60), std::pair(60, 100));
  EXPECT_EQ(size(31), std::pair(60, 100));
  EXPECT_EQ(size(30), std::pair(30, 50));
  EXPECT_EQ(size(15), std::pair(15, 25));
  EXPECT_EQ(size(1), std::pair(15, 25));  // an eighth is the least
}

TEST(DecodeImage, RoundsOddSidesUpAtAFraction) {
  Image image;
  decode_image(encode_jpeg(counting_image(33, 47, 3)), "x", image, 16);
  EXPECT_EQ(std::pair(image.height, image.width), std::pair(17, 24));
}

TEST(DecodeImage, AFractionLooksLikeTheWholeMadeSmaller) {
  Image slope;
  slope.resize(64, 96, 3);
  for (std::size_t i = 0; i < slope.pixels.size(); ++i) {
    slope.pixels[i] = static_cast<std::uint8_t>(i / 288 * 3 + i % 3 * 20);  // rows get lighter
  }
  const Bytes jpeg = encode_jpeg(slope, 95);
  Image small;
  decode_image(jpeg, "x", small, 16);  // a quarter
  ASSERT_EQ(small.pixels.size(), 16U * 24 * 3);
  for (std::size_t y = 0; y < 16; ++y) {
    // The mean of rows 4 y to 4 y + 3.
    EXPECT_NEAR(small.pixels[y * 72], 12 * static_cast<int>(y) + 4.5, 6) << y;
  }
}

TEST(DecodeImage, FractionsPlayNoPartForPng) {
  Image image;
  decode_image(encode_png(counting_image(20, 30, 3)), "x", image, 2);
  EXPECT_EQ(image.pixels, counting_image(20, 30, 3).pixels);
}

TEST(DecodeImage, RefusesATruncationAtAFractionToo) {
  const Bytes jpeg = encode_jpeg(counting_image(64, 64, 3));
  for (std::size_t count = 1; count < jpeg.size(); count += 7) {
    Image image;
    EXPECT_THROW(decode_image(start_of(jpeg, count), "x", image, 8), BadFile) << count;
  }
}

TEST(HasImageExtension, KnowsTheExtensionsInAnyCase) {
  for (const char* name :
       {"a.jpg", "a.JPEG", "a.Png", "a.ppm", "a.bmp", "a.pgm", "a.tif", "a.TIFF", "a.b.webp"}) {
    EXPECT_TRUE(has_image_extension(name)) << name;
  }
  for (const char* name : {"a.txt", "jpg", ".jpg", "a.jpg.txt", "a"}) {
    EXPECT_FALSE(has_image_extension(name)) << name;
  }
}

}  // namespace
}  // namespace rcap
