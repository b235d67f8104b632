#include "data/sets/imagenet.hpp"

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "data/open_dataset.hpp"
#include "data/sample_files.hpp"
#include "data/sets/mat_samples.hpp"
#include "rcap/core/error.hpp"
#include "temporary_folder.hpp"

namespace rcap {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

/// A JPEG whose EXIF data ask to turn it by a quarter.
Bytes turned_jpeg(int height, int width) {
  Bytes bytes = encode_jpeg(counting_image(height, width, 3));
  const Bytes exif{0xFF, 0xE1, 0, 34, 'E', 'x', 'i', 'f', 0, 0, 'M', 'M', 0, 42, 0, 0,
                   0,    8,    0, 1,  // one entry:
                   0x01, 0x12, 0, 3,  0,   0,   0,   1,   0, 6, 0,   0,   0, 0,  0, 0};
  bytes.insert(bytes.begin() + 2, exif.begin(), exif.end());
  return bytes;
}

class OpenImagenet : public testing::Test {
 protected:
  OpenImagenet() {
    const Bytes photo = encode_jpeg(counting_image(5, 7, 3));
    put_file(folder_ / "train/n02119789/n02119789_10.JPEG", photo);
    put_file(folder_ / "train/n02119789/n02119789_9.JPEG",
             encode_jpeg({Bytes(64, 100), 8, 8, 1}, 100));
    put_file(folder_ / "train/n01440764/n01440764_18.JPEG", encode_png(counting_image(3, 2, 3)));
    put_file(folder_ / "train/n02100735/n02100735_7.JPEG",
             encode_jpeg({Bytes(8 * 8 * 4, 255), 8, 8, 4}, 100));
    put_file(folder_ / "train/n02100735/n02100735_8.JPEG", turned_jpeg(4, 9));
  }
  void put_sorted_val() const {
    for (const char* name :
         {"n01440764/ILSVRC2012_val_00000293.JPEG", "n02119789/ILSVRC2012_val_00000002.JPEG",
          "n02100735/ILSVRC2012_val_00000001.JPEG"}) {
      put_file(folder_ / "val" / name, encode_jpeg(counting_image(5, 7, 3)));
    }
  }
  /// Images 1 to 4 of the ILSVRC ids 2, 1, 3, 1; the devkit in `place`.
  void put_flat_val(const std::string& place) const {
    for (const char* number : {"1", "2", "3", "4"}) {
      put_file(folder_ / ("val/ILSVRC2012_val_0000000" + std::string(number) + ".JPEG"),
               encode_jpeg(counting_image(5, 7, 3)));
    }
    put_file(folder_ / (place + "ILSVRC2012_validation_ground_truth.txt"), "2\n1\n3\n1\n");
    put_synsets(place, {{1, "n02119789"}, {2, "n02100735"}, {3, "n01440764"}, {4, "n00001740"}});
  }
  void put_synsets(const std::string& place, std::vector<SynsetRow> rows) const {
    MatSample sample;
    sample.rows = std::move(rows);
    put_file(folder_ / (place + "meta.mat"), sample.bytes());
  }
  [[nodiscard]] Dataset open(ImageFileOptions options = {}) const {
    return open_imagenet(folder_.path(), options);
  }
  [[nodiscard]] std::string refusal() const {
    return message_of<BadFile>([&] { (void)open(); });
  }

  TemporaryFolder folder_;
};

TEST_F(OpenImagenet, RanksClassesByWnid) {
  put_sorted_val();
  for (const int threads : {1, 3}) {
    const Dataset dataset = open({false, threads, 0});
    EXPECT_THAT(dataset.class_names, ElementsAre("n01440764", "n02100735", "n02119789"));
    EXPECT_THAT(dataset.train.labels, ElementsAre(0, 1, 1, 2, 2));
    EXPECT_EQ(dataset.train.images->name_of(3),
              (folder_ / "train/n02119789/n02119789_10.JPEG").string());
    EXPECT_THAT(dataset.test.labels, ElementsAre(0, 1, 2));
    EXPECT_THAT(dataset.train.groups, testing::IsEmpty());
    EXPECT_THAT(dataset.remarks, ElementsAre("3 classes; ImageNet has 1,000",
                                             "a subset: 5 of 1,281,167 training images",
                                             "a subset: 3 of 50,000 test images"));
  }
}

TEST_F(OpenImagenet, DecodesItsOddFiles) {
  put_sorted_val();
  const Dataset dataset = open();
  Image image;
  const ImageView png = dataset.train.images->read(0, image);
  EXPECT_EQ(std::vector(png.pixels, png.pixels + png.bytes()), counting_bytes(18));
  // Inverted inks of 255 are none at all: white.
  (void)dataset.train.images->read(1, image);
  EXPECT_THAT(image.pixels, AllOf(testing::SizeIs(192), Each(255)));
  // Not turned: 4 high, 9 wide.
  const ImageView turned = dataset.train.images->read(2, image);
  EXPECT_EQ(turned.height, 4);
  EXPECT_EQ(turned.width, 9);
  (void)dataset.train.images->read(4, image);
  EXPECT_THAT(image.pixels, AllOf(testing::SizeIs(192), Each(100)));  // grey
}

TEST_F(OpenImagenet, LooksFlatImagesUpInTheDevkit) {
  for (const char* place : {"", "ILSVRC2012_devkit_t12/data/"}) {
    put_flat_val(place);
    const Dataset dataset = open();
    // Ids 2, 1, 3, 1 are n02100735, n02119789, n01440764, n02119789: ranks 1, 2, 0, 2.
    EXPECT_THAT(dataset.test.labels, ElementsAre(1, 2, 0, 2));
    EXPECT_EQ(dataset.test.images->name_of(2),
              (folder_ / "val/ILSVRC2012_val_00000003.JPEG").string());
    if (*place == 0) std::filesystem::remove(folder_ / "meta.mat");
  }
}

TEST_F(OpenImagenet, LeavesOutWhatHasNoTrainingImages) {
  std::filesystem::remove_all(folder_ / "train/n02119789");
  put_flat_val("");
  const Dataset flat = open();
  EXPECT_THAT(flat.test.labels, ElementsAre(1, 0));
  EXPECT_EQ(flat.test.images->name_of(1), (folder_ / "val/ILSVRC2012_val_00000003.JPEG").string());
  EXPECT_THAT(flat.remarks, Contains("2 of 4 images in val are of classes without training images "
                                     "and are left out"));
  std::filesystem::remove_all(folder_ / "val");
  put_sorted_val();
  const Dataset sorted = open();
  EXPECT_THAT(sorted.test.labels, ElementsAre(0, 1));
  EXPECT_THAT(sorted.remarks, Contains(HasSubstr("1 of 3 folders in")));
}

TEST_F(OpenImagenet, LeavesOutBadImagesWhereAskedTo) {
  put_sorted_val();
  put_file(folder_ / "train/n02119789/n02119789_11.JPEG", "bad");
  EXPECT_EQ(open().train.size(), 6);
  const Dataset dataset = open({true, 2, 0});
  EXPECT_THAT(dataset.train.labels, ElementsAre(0, 1, 1, 2, 2));
  EXPECT_THAT(dataset.remarks, Contains(AllOf(HasSubstr("1 of 6 images in"),
                                              HasSubstr("n02119789_11.JPEG: is neither"))));
}

TEST_F(OpenImagenet, IsOpenedByName) {
  put_sorted_val();
  DatasetOptions options;
  options.folder = folder_.path();
  const Dataset dataset = open_dataset("imagenet", options);
  EXPECT_EQ(dataset.name, "imagenet");
  EXPECT_EQ(dataset.channels, 3);
  EXPECT_THAT(dataset.normalization.deviation, ElementsAre(0.229F, 0.224F, 0.225F));
}

TEST_F(OpenImagenet, DecodesAtALesserSizeWhereAskedTo) {
  put_sorted_val();
  put_file(folder_ / "train/n01440764/n01440764_0.JPEG", encode_jpeg(counting_image(64, 80, 3)));
  DatasetOptions options;
  options.folder = folder_.path();
  options.least_side = 16;
  Image buffer;
  EXPECT_EQ(open_dataset("imagenet", options).train.images->read(0, buffer).width, 20);
  EXPECT_EQ(open().train.images->read(0, buffer).width, 80);
}

TEST_F(OpenImagenet, NamesWhatIsMissing) {
  EXPECT_THAT(refusal(), HasSubstr("has no folder val"));
  std::filesystem::create_directory(folder_ / "val");
  EXPECT_THAT(refusal(),
              HasSubstr("val: has no folders; put the images into one folder per class"));
  put_flat_val("");
  std::filesystem::remove(folder_ / "meta.mat");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("not sorted into folders, and there is no meta.mat"),
                               HasSubstr("unpack ILSVRC2012_devkit_t12.tar.gz there")));
  std::filesystem::remove(folder_ / "ILSVRC2012_validation_ground_truth.txt");
  EXPECT_THAT(refusal(), HasSubstr("there is no ILSVRC2012_validation_ground_truth.txt"));
  std::filesystem::remove_all(folder_ / "train");
  EXPECT_THAT(refusal(), HasSubstr("has no folder train"));
}

TEST_F(OpenImagenet, RefusesADevkitThatDoesNotReach) {
  put_flat_val("");
  put_file(folder_ / "ILSVRC2012_validation_ground_truth.txt", "2\n1\n3\n");
  EXPECT_THAT(refusal(), HasSubstr("has 3 lines, none for ILSVRC2012_val_00000004.JPEG"));
  put_file(folder_ / "ILSVRC2012_validation_ground_truth.txt", "2\n1\n3\n9\n");
  EXPECT_THAT(refusal(), HasSubstr("meta.mat: has 4 rows, none for ILSVRC id 9"));
}

TEST_F(OpenImagenet, RefusesOtherFolders) {
  put_sorted_val();
  put_file(folder_ / "val/ILSVRC2012_val_00000007.JPEG", "x");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("has images such as ILSVRC2012_val_00000007.JPEG and"),
                               HasSubstr("sort all images into folders, or none")));
  std::filesystem::create_directory(folder_ / "train/cats");
  EXPECT_THAT(refusal(), HasSubstr("train/cats: is not named like a class of ImageNet"));
}

}  // namespace
}  // namespace rcap
