#include "data/sets/image_folder.hpp"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "data/images/bad_images.hpp"
#include "data/sample_files.hpp"
#include "rcap/core/error.hpp"
#include "temporary_folder.hpp"

namespace rcap {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class OpenImageFolder : public testing::Test {
 protected:
  void put_image(const std::string& path, int height = 2) const {
    put_file(folder_ / path, encode_png(counting_image(height, 2, 3)));
  }
  /// Two classes with `count` images each, directly below the root.
  void put_classes(int count) const {
    for (const char* name : {"cat", "dog"}) {
      for (int i = 0; i < count; ++i) {
        put_image(std::string(name) + "/" + std::to_string(100 + i) + ".png");
      }
    }
  }
  [[nodiscard]] Dataset open(ImageFileOptions options = {}) const {
    return open_image_folder(folder_.path(), options);
  }
  [[nodiscard]] std::string refusal(ImageFileOptions options = {}) const {
    return message_of<BadFile>([&] { (void)open(options); });
  }
  /// The names of a split's images, below the folder.
  [[nodiscard]] std::vector<std::string> names(const Split& split) const {
    std::vector<std::string> names;
    for (SampleId id = 0; id < split.size(); ++id) {
      names.push_back(split.images->name_of(id).substr(folder_.path().string().size() + 1));
    }
    return names;
  }

  TemporaryFolder folder_;
};

TEST_F(OpenImageFolder, RanksClassesAndImagesInByteOrder) {
  for (const char* path : {"train/b/2.png", "train/b/10.png", "train/a/deep/er/x.PNG",
                           "train/B/1.png", "val/a/1.png", "val/b/1.png"}) {
    put_image(path);
  }
  const Dataset dataset = open();
  EXPECT_THAT(dataset.class_names, ElementsAre("B", "a", "b"));
  EXPECT_THAT(names(dataset.train), ElementsAre("train/B/1.png", "train/a/deep/er/x.PNG",
                                                "train/b/10.png", "train/b/2.png"));
  EXPECT_THAT(dataset.train.labels, ElementsAre(0, 1, 2, 2));
  EXPECT_THAT(dataset.test.labels, ElementsAre(1, 2));
  EXPECT_THAT(dataset.remarks, ElementsAre(AllOf(HasSubstr("1 of 3 classes have no image in"),
                                                 HasSubstr("val: B"))));
}

TEST_F(OpenImageFolder, DecodesWhenAnImageIsRead) {
  put_image("train/a/1.png", 5);
  put_image("test/a/1.png", 3);
  put_file(folder_ / "train/a/2.jpg", "no image");
  const Dataset dataset = open();
  Image buffer;
  EXPECT_EQ(dataset.train.images->read(0, buffer).height, 5);
  EXPECT_EQ(dataset.test.images->read(0, buffer).height, 3);
  EXPECT_FALSE(dataset.train.images->in_memory());
  EXPECT_EQ(dataset.train.images->fixed_shape(), std::nullopt);
  EXPECT_THAT(message_of<BadFile>([&] { (void)dataset.train.images->read(1, buffer); }),
              HasSubstr("train/a/2.jpg: is neither a JPEG nor a PNG"));
}

TEST_F(OpenImageFolder, PassesOverOtherAndHiddenFiles) {
  put_image("train/a/1.png");
  put_image("val/a/1.png");
  put_file(folder_ / "train/a/notes.txt", "");
  put_file(folder_ / "train/a/._1.png", "");
  put_file(folder_ / "train/a/.cache/1.png", "");
  put_file(folder_ / "train/.ipynb_checkpoints/1.png", "");
  put_file(folder_ / "train/README", "");
  EXPECT_THAT(names(open().train), ElementsAre("train/a/1.png"));
}

TEST_F(OpenImageFolder, FollowsALinkToAClassFolder) {
  put_image("elsewhere/a/1.png");
  put_image("root/val/a/1.png");
  std::filesystem::create_directories(folder_ / "root/train");
  std::filesystem::create_directory_symlink(folder_ / "elsewhere/a", folder_ / "root/train/a");
  EXPECT_EQ(open_image_folder(folder_ / "root", {}).train.size(), 1);
}

TEST_F(OpenImageFolder, TakesValBeforeTest) {
  for (const char* path : {"train/a/1.png", "val/a/2.png", "test/a/3.png"}) put_image(path);
  const Dataset dataset = open();
  EXPECT_THAT(names(dataset.test), ElementsAre("val/a/2.png"));
  EXPECT_THAT(dataset.remarks, ElementsAre(HasSubstr("test is not used")));
}

TEST_F(OpenImageFolder, HoldsOutATenthOfEachClass) {
  put_classes(25);
  put_image("lone/1.png");
  const Dataset dataset = open({.seed = 7});
  EXPECT_EQ(dataset.train.size(), 23 + 23 + 1);
  EXPECT_THAT(dataset.test.labels, ElementsAre(0, 0, 1, 1));
  std::vector<std::string> all = names(dataset.train);
  for (const std::string& name : names(dataset.test)) all.push_back(name);
  EXPECT_THAT(std::set<std::string>(all.begin(), all.end()), SizeIs(51));
  EXPECT_THAT(dataset.remarks, ElementsAre(AllOf(HasSubstr("4 of 51 images, a tenth of each class"),
                                                 HasSubstr("(seed 7)"))));
  EXPECT_EQ(names(open({.seed = 7}).test), names(dataset.test));
  EXPECT_NE(names(open({.seed = 8}).test), names(dataset.test));
}

TEST_F(OpenImageFolder, HoldsOutOneOfAClassOfTwo) {
  put_classes(2);
  EXPECT_THAT(open().test.labels, ElementsAre(0, 1));
}

TEST_F(OpenImageFolder, RefusesToHoldOutTheOnlyImages) {
  put_classes(1);
  EXPECT_THAT(refusal(), HasSubstr("no class has two images"));
}

TEST_F(OpenImageFolder, RefusesWhatIsMissingByName) {
  EXPECT_THAT(refusal(), HasSubstr(": has no folders; put the images into one folder per class"));
  std::filesystem::create_directories(folder_ / "train");
  EXPECT_THAT(refusal(), HasSubstr("has train, but neither val nor test"));
  put_image("val/a/1.png");
  EXPECT_THAT(refusal(), HasSubstr("train: has no folders"));
  put_file(folder_ / "train/a/notes.txt", "");
  EXPECT_THAT(refusal(), HasSubstr("train/a: has no image"));
  put_image("train/a/1.png");
  std::filesystem::create_directories(folder_ / "val/b");
  EXPECT_THAT(refusal(), HasSubstr("val/b: class b has no training images"));
  put_image("train/b/1.png");
  EXPECT_THAT(refusal(), HasSubstr("val/b: has no image"));
  std::filesystem::remove_all(folder_ / "train");
  EXPECT_THAT(refusal(), HasSubstr("has val, but no train"));
}

TEST_F(OpenImageFolder, RefusesAnEmptyFileAndSaysHowToLeaveItOut) {
  put_classes(3);
  put_file(folder_ / "dog/0.jpg", "");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("dog/0.jpg: is empty"), HasSubstr("with skip-bad")));
}

TEST_F(OpenImageFolder, LeavesBadImagesOutWhereAskedTo) {
  for (const int threads : {1, 3}) {
    put_classes(20);
    for (const char* name : {"cat/0.jpg", "cat/1.bmp", "dog/2.png", "dog/999.png"}) {
      put_file(folder_ / name, "BM");
    }
    const Dataset dataset = open({.skip_bad = true, .threads = threads});
    EXPECT_EQ(dataset.train.size() + dataset.test.size(), 40);
    EXPECT_THAT(names(dataset.train), Not(testing::Contains(HasSubstr("999"))));
    ASSERT_THAT(dataset.remarks, SizeIs(2));
    EXPECT_THAT(dataset.remarks[0],
                AllOf(HasSubstr("4 of 44 images in"), HasSubstr("cat/0.jpg: is a BMP image"),
                      HasSubstr("dog/2.png"), Not(HasSubstr("999")), HasSubstr(" ...")));
  }
}

TEST_F(OpenImageFolder, SaysNothingWhereAllImagesAreGood) {
  put_image("train/a/1.png");
  put_image("val/a/1.png");
  EXPECT_THAT(open({.skip_bad = true, .threads = 2}).remarks, IsEmpty());
}

TEST_F(OpenImageFolder, RefusesAClassThatHasBadImagesOnly) {
  put_classes(2);
  put_file(folder_ / "cat/0.png", "bad");
  put_file(folder_ / "eel/0.png", "");
  EXPECT_THAT(refusal({.skip_bad = true, .threads = 1}),
              AllOf(HasSubstr("none of the images of class eel can be decoded"),
                    HasSubstr("eel/0.png: is empty")));
}

TEST_F(OpenImageFolder, TellsProgressForEveryImage) {
  put_classes(10);
  const Dataset dataset = open();
  std::vector<std::int64_t> told;
  EXPECT_THAT(
      find_bad_images(*dataset.train.images, 3, [&](std::int64_t done) { told.push_back(done); }),
      IsEmpty());
  ASSERT_EQ(told.size(), 18U);
  EXPECT_EQ(told.back(), 18);
}

}  // namespace
}  // namespace rcap
