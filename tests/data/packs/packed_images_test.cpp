#include "data/packs/packed_images.hpp"

#include <chrono>
#include <cstring>
#include <fstream>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "data/batch_reader.hpp"
#include "data/open_dataset.hpp"
#include "data/packs/packed_samples.hpp"
#include "temporary_folder.hpp"

namespace rcap {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class PackedImagesTest : public testing::Test {
 protected:
  PackedImagesTest() : path_(folder_ / "a.pack"), whole_(pack(small_dataset(), path_)) {}

  TemporaryFolder folder_;
  std::filesystem::path path_;
  Bytes whole_;
};

TEST_F(PackedImagesTest, NamesTheDamagedImageAndGivesTheOthers) {
  Bytes damaged = whole_;
  damaged[88 + 72 + 3] ^= 1;  // in the second image
  put_file(path_, damaged);
  const Dataset dataset = open_packed(path_).dataset;
  Image unused;
  EXPECT_EQ(dataset.train.images->read(0, unused).height, 4);
  EXPECT_EQ(dataset.test.images->read(1, unused).width, 4);
  for (int time = 0; time < 2; ++time) {
    EXPECT_THAT(message_of<BadFile>([&] { (void)dataset.train.images->read(1, unused); }),
                AllOf(HasSubstr(path_.string()), HasSubstr("byte 160"),
                      HasSubstr("image 1 of train (train/1.jpg)"), HasSubstr("checksum")));
  }
}

TEST_F(PackedImagesTest, RefusesAFileThatChangesWhileItIsOpen) {
  for (const bool is_cut_off : {true, false}) {
    put_file(path_, whole_);
    // Clocks of file systems are coarse.
    std::filesystem::last_write_time(
        path_, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
    const Dataset dataset = open_packed(path_).dataset;
    Image image;
    (void)dataset.train.images->read(0, image);
    if (is_cut_off) {
      std::filesystem::resize_file(path_, 100);
    } else {
      std::fstream(path_, std::ios::in | std::ios::out | std::ios::binary).seekp(90).put('x');
    }
    for (const SampleId id : {0, 1}) {
      EXPECT_THAT(message_of<BadFile>([&] { (void)dataset.train.images->read(id, image); }),
                  HasSubstr("was written to or truncated while its images were read"));
    }
    EXPECT_THAT(dataset.train.images->name_of(1), HasSubstr("train/1.jpg"));
  }
}

TEST_F(PackedImagesTest, GoesOnWithAFileThatAnotherTookThePlaceOf) {
  const Dataset dataset = open_packed(path_).dataset;
  Bytes other = whole_;
  other[100] ^= 1;
  put_file(folder_ / "b.pack", other);
  std::filesystem::rename(folder_ / "b.pack", path_);
  Image image;
  EXPECT_NO_THROW((void)dataset.train.images->read(0, image));
}

TEST_F(PackedImagesTest, HoldsWhatWasPacked) {
  const Dataset source = small_dataset();
  const PackedDataset packed = open_packed(path_);
  EXPECT_EQ(packed.file_bytes, whole_.size());
  EXPECT_EQ(packed.recipe, PackRecipe{});
  const Dataset& dataset = packed.dataset;
  EXPECT_EQ(dataset.name, source.name);
  EXPECT_EQ(dataset.class_names, source.class_names);
  EXPECT_EQ(dataset.group_names, source.group_names);
  EXPECT_EQ(dataset.channels, 3);
  EXPECT_EQ(dataset.normalization.mean, source.normalization.mean);
  EXPECT_EQ(dataset.normalization.deviation, source.normalization.deviation);
  EXPECT_EQ(dataset.remarks, source.remarks);
  Image expected, unused;
  for (const auto& [from, to] :
       {std::pair{&source.train, &dataset.train}, std::pair{&source.test, &dataset.test}}) {
    EXPECT_EQ(to->labels, from->labels);
    EXPECT_EQ(to->groups, from->groups);
    ASSERT_EQ(to->images->size(), from->images->size());
    for (SampleId id = 0; id < from->size(); ++id) {
      const ImageView a = from->images->read(id, expected), b = to->images->read(id, unused);
      EXPECT_EQ((ImageShape{a.height, a.width, a.channels}),
                (ImageShape{b.height, b.width, b.channels}));
      EXPECT_EQ(std::memcmp(a.pixels, b.pixels, a.bytes()), 0);
    }
  }
  EXPECT_EQ(dataset.train.images->fixed_shape(), std::nullopt);
  EXPECT_EQ(dataset.test.images->fixed_shape(), (ImageShape{4, 4, 3}));
  EXPECT_EQ(dataset.test.images->name_of(1), path_.string() + ", image 1 of test (val/1.jpg)");
}

TEST_F(PackedImagesTest, IsOpenedByTheNameOfItsDataSet) {
  EXPECT_TRUE(is_packed(path_));
  EXPECT_FALSE(is_packed(folder_.path()));
  EXPECT_FALSE(is_packed(folder_ / "none"));
  EXPECT_FALSE(open_if_packed(folder_.path(), "image-folder"));
  EXPECT_EQ(open_dataset("image-folder", {.folder = path_}).train.size(), 3);
  EXPECT_EQ(
      message_of<InvalidArgument>([&] { (void)open_dataset("mnist", {.folder = path_}); }),
      path_.string() + ": holds the data set image-folder, not mnist; open it as image-folder");
  // One of "cat", two of "dog": the smaller class settles how many are kept of each.
  EXPECT_EQ(open_dataset("image-folder", {.folder = path_, .imbalance = 1.5}).train.size(), 2);
  put_file(path_, "no pack");
  EXPECT_THAT(message_of<BadFile>([&] { (void)open_dataset("mnist", {.folder = path_}); }),
              HasSubstr("there is no folder"));
}

TEST(PackedImages, AreReadByManyThreadsAtATime) {
  const TemporaryFolder folder;
  Dataset dataset = small_dataset();
  std::vector<Image> images;
  for (int i = 0; i < 300; ++i) images.push_back(counting_image(9 + i % 5, 8 + i % 3, 3));
  dataset.train.images = std::make_shared<ListedImages>("root/train", std::move(images));
  dataset.train.labels.assign(300, 1);
  dataset.train.groups.assign(300, 0);
  dataset.train.labels[0] = 0;
  (void)pack(dataset, folder / "a.pack");
  const Transform transform({.crop = 8, .flip = true, .normalization = dataset.normalization});
  std::vector<SampleId> ids(300);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<SampleId>(i * 7 % 300);
  const auto read = [&](const Split& split, int workers) {
    BatchReader reader(split, transform, {.batch_size = 7, .workers = workers});
    std::vector<float> numbers;
    for (int epoch = 0; epoch < 2; ++epoch) {
      reader.start(ids, 0, RandomStream(3, Purpose::Augmentation, epoch));
      while (const Batch* batch = reader.next()) {
        numbers.insert(numbers.end(), batch->images.begin(), batch->images.end());
      }
    }
    return numbers;
  };
  const auto expected = read(dataset.train, 1);
  for (const int workers : {1, 4}) {
    // Opened anew, so that the first reads of images meet each other.
    EXPECT_EQ(read(open_packed(folder / "a.pack").dataset.train, workers), expected);
  }
}

TEST(PackedImages, MayBeGrey) {
  const TemporaryFolder folder;
  put_mnist_files(folder.path(), 20);
  const Dataset source = open_dataset("mnist", {.folder = folder.path()});
  (void)pack_images(source, folder.path(), folder / "a.pack", {});
  const Dataset dataset = open_dataset("mnist", {.folder = folder / "a.pack"});
  EXPECT_EQ(dataset.channels, 1);
  EXPECT_EQ(dataset.train.images->fixed_shape(), (ImageShape{2, 2, 1}));
  Image unused;
  const ImageView image = dataset.train.images->read(3, unused);
  EXPECT_THAT(std::vector(image.pixels, image.pixels + 4), ElementsAre(12, 13, 14, 15));
}

}  // namespace
}  // namespace rcap
