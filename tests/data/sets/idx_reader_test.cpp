#include "data/sets/idx_reader.hpp"

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "data/sample_files.hpp"
#include "rcap/core/error.hpp"
#include "temporary_folder.hpp"

namespace rcap {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint32_t Images = 0x803;
constexpr std::uint32_t Labels = 0x801;

/// What `read_idx_images` says about a file of these bytes.
std::string refusal_of_images(const Bytes& bytes) {
  const TemporaryFolder folder;
  put_file(folder / "x-images", bytes);
  return message_of<BadFile>([&] { (void)read_idx_images(folder / "x-images"); });
}

std::string refusal_of_labels(const Bytes& bytes) {
  const TemporaryFolder folder;
  put_file(folder / "x-labels", bytes);
  return message_of<BadFile>([&] { (void)read_idx_labels(folder / "x-labels"); });
}

TEST(ReadIdxImages, ReadsPlainAndPackedFilesAlike) {
  const TemporaryFolder folder;
  const Bytes file = idx(Images, {2, 1, 3}, {10, 11, 12, 20, 21, 22});
  put_file(folder / "plain.gz", file);  // the contents count, not the name
  put_file(folder / "packed", gzip(file));
  for (const char* name : {"plain.gz", "packed"}) {
    const IdxImages images = read_idx_images(folder / name);
    EXPECT_EQ(images.count, 2);
    EXPECT_EQ(images.height, 1);
    EXPECT_EQ(images.width, 3);
    EXPECT_THAT(images.pixels, ElementsAre(10, 11, 12, 20, 21, 22));
  }
}

TEST(ReadIdxImages, ReadsFilesLargerThanItsPieces) {
  const TemporaryFolder folder;
  const Bytes data = counting_bytes(300 * 700);
  put_file(folder / "packed", gzip(idx(Images, {300, 1, 700}, data)));
  put_file(folder / "plain", idx(Images, {300, 1, 700}, data));
  EXPECT_EQ(read_idx_images(folder / "packed").pixels, data);
  EXPECT_EQ(read_idx_images(folder / "plain").pixels, data);
}

TEST(ReadIdxImages, ReadsAGzipFileOfTwoStreams) {
  const TemporaryFolder folder;
  Bytes file = gzip(idx(Images, {2, 1, 2}, {1, 2}));
  const Bytes rest = gzip({3, 4});
  file.insert(file.end(), rest.begin(), rest.end());
  put_file(folder / "packed", file);
  EXPECT_THAT(read_idx_images(folder / "packed").pixels, ElementsAre(1, 2, 3, 4));
}

TEST(ReadIdxImages, RefusesAnotherMagicNumber) {
  EXPECT_THAT(refusal_of_images(idx(Labels, {4}, {0, 1, 2, 3})),
              AllOf(HasSubstr("x-images: begins with 0x00000801, which is a file of labels"),
                    HasSubstr("begin with 0x00000803")));
  EXPECT_THAT(refusal_of_labels(idx(Images, {1, 1, 1}, {0})),
              HasSubstr("x-labels: begins with 0x00000803, which is a file of images"));
  EXPECT_THAT(refusal_of_images(idx(0xd0000, {1, 1, 1}, {0})), HasSubstr("0x000d0000; IDX images"));
}

TEST(ReadIdxImages, RefusesAHeaderThatIsCutOff) {
  const Bytes file = idx(Images, {1, 1, 1}, {7});
  for (std::size_t bytes = 0; bytes < 16; ++bytes) {
    const Bytes start(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(bytes));
    EXPECT_THAT(refusal_of_images(start), HasSubstr("ends inside the header")) << bytes;
  }
}

TEST(ReadIdxImages, RefusesAFileShorterOrLongerThanItsHeaderClaims) {
  EXPECT_THAT(refusal_of_images(idx(Images, {2, 2, 2}, counting_bytes(7))),
              AllOf(HasSubstr("claims 2 x 2 x 2 bytes"), HasSubstr("the file has 23;")));
  EXPECT_THAT(refusal_of_images(idx(Images, {2, 2, 2}, counting_bytes(9))),
              HasSubstr("continues after the 8 bytes of data"));
  EXPECT_THAT(refusal_of_images(gzip(idx(Images, {2, 2, 2}, counting_bytes(7)))),
              HasSubstr("ends after 7 bytes of data, its header claims 8"));
  EXPECT_THAT(refusal_of_images(gzip(idx(Images, {2, 2, 2}, counting_bytes(9)))),
              HasSubstr("continues after the 8 bytes of data"));
  EXPECT_THAT(refusal_of_labels(idx(Labels, {3}, {1, 2})), HasSubstr("claims 3 bytes"));
}

TEST(ReadIdxImages, RefusesSizesThatCannotBeInTheFileBeforeTakingMemory) {
  // 4294967295 images of 32768 x 32768 are 2^62 bytes; the packed file may unpack to 1032
  // times its own size at most.
  for (const bool packed : {false, true}) {
    const Bytes file = idx(Images, {0xffffffff, 32768, 32768}, counting_bytes(100));
    EXPECT_THAT(refusal_of_images(packed ? gzip(file) : file),
                HasSubstr("claims 4294967295 x 32768 x 32768 bytes"));
  }
  EXPECT_THAT(refusal_of_labels(gzip(idx(Labels, {0xffffffff}, {1}))),
              AllOf(HasSubstr("claims 4294967295 bytes"), HasSubstr("packed")));
}

TEST(ReadIdxImages, RefusesImagesWithoutPixelsAndFilesWithoutImages) {
  EXPECT_THAT(refusal_of_images(idx(Images, {0, 2, 2}, {})), HasSubstr("holds no image"));
  EXPECT_THAT(refusal_of_images(idx(Images, {2, 0, 2}, {})),
              HasSubstr("height 0; it must lie between"));
  EXPECT_THAT(refusal_of_images(idx(Images, {1, 1, 0x7fffffff}, {})),
              HasSubstr("width 2147483647; it must lie between 1 and 32768"));
  EXPECT_THAT(refusal_of_labels(idx(Labels, {0}, {})), HasSubstr("holds no label"));
}

TEST(ReadIdxImages, RefusesADamagedGzipStream) {
  const Bytes whole = gzip(idx(Images, {2, 10, 10}, counting_bytes(200)));
  Bytes cut_off(whole.begin(), whole.end() - 9);
  EXPECT_THAT(refusal_of_images(cut_off), HasSubstr("gzip stream ends early"));
  // Without the checksum at the end the pixels are all there, and still the file is cut off.
  Bytes without_checksum(whole.begin(), whole.end() - 3);
  EXPECT_THAT(refusal_of_images(without_checksum), HasSubstr("gzip stream ends early"));
  Bytes flipped = whole;
  flipped[whole.size() / 2] ^= 0x55;
  EXPECT_THAT(refusal_of_images(flipped), HasSubstr("x-images: the gzip stream is damaged"));
  Bytes extended = whole;
  extended.insert(extended.end(), 5, std::uint8_t{'x'});
  EXPECT_THAT(refusal_of_images(extended), HasSubstr("5 bytes follow the gzip stream"));
}

TEST(ReadIdxImages, NamesAFileThatIsNotThere) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of<BadFile>([&] { (void)read_idx_images(folder / "nothing"); }),
              HasSubstr("nothing: there is no such file"));
  EXPECT_THAT(message_of<BadFile>([&] { (void)read_idx_images(folder.path()); }),
              HasSubstr("is not a regular file"));
}

TEST(FindIdxFile, TakesThePlainFileBeforeThePackedOne) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of<BadFile>([&] { (void)find_idx_file(folder.path(), "a"); }),
              HasSubstr("/a: there is no such file, nor one with .gz"));
  put_file(folder / "a.gz", "x");
  EXPECT_EQ(find_idx_file(folder.path(), "a"), folder / "a.gz");
  put_file(folder / "a", "x");
  EXPECT_EQ(find_idx_file(folder.path(), "a"), folder / "a");
}

class ReadIdxSplit : public testing::Test {
 protected:
  void put(const Bytes& images, const Bytes& labels) {
    put_file(folder_ / "images", images);
    put_file(folder_ / "labels", labels);
  }
  Split read(ClassId class_count) {
    return read_idx_split(folder_ / "images", folder_ / "labels", class_count);
  }

  TemporaryFolder folder_;
};

TEST_F(ReadIdxSplit, JoinsImagesAndLabels) {
  put(idx(Images, {3, 1, 2}, {0, 1, 10, 11, 20, 21}), idx(Labels, {3}, {2, 0, 1}));
  const Split split = read(3);
  EXPECT_THAT(split.labels, ElementsAre(2, 0, 1));
  EXPECT_EQ(split.images->size(), 3);
  EXPECT_EQ(split.images->fixed_shape(), (ImageShape{1, 2, 1}));
  EXPECT_TRUE(split.images->in_memory());
  EXPECT_EQ(split.images->name_of(2), "images, image 2");
  Image unused;
  const ImageView view = split.images->read(1, unused);
  EXPECT_EQ(view.bytes(), 2U);
  EXPECT_EQ(view.pixels[0], 10);
  EXPECT_EQ(view.pixels[1], 11);
}

TEST_F(ReadIdxSplit, RefusesOtherCountsAndLabelsOutOfRange) {
  put(idx(Images, {2, 1, 1}, {0, 1}), idx(Labels, {3}, {0, 0, 1}));
  EXPECT_THAT(message_of<BadFile>([&] { (void)read(2); }),
              AllOf(HasSubstr("labels: holds 3 labels"), HasSubstr("images holds 2 images")));
  put(idx(Images, {3, 1, 1}, {0, 1, 2}), idx(Labels, {3}, {0, 9, 10}));
  EXPECT_THAT(message_of<BadFile>([&] { (void)read(10); }),
              HasSubstr("label 2 is 10; labels must lie between 0 and 9"));
}

}  // namespace
}  // namespace rcap
