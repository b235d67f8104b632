#include "data/open_dataset.hpp"

#include <limits>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "data/sample_files.hpp"
#include "data/sets/idx_reader.hpp"
#include "rcap/core/error.hpp"
#include "temporary_folder.hpp"

namespace rcap {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::FloatEq;
using testing::HasSubstr;

DatasetOptions in_folder(const std::filesystem::path& folder) {
  DatasetOptions options;
  options.folder = folder;
  return options;
}

std::string refusal(std::string_view name, const DatasetOptions& options) {
  return message_of<Error>([&] { (void)open_dataset(name, options); });
}

TEST(OpenDataset, ListsTheDataSetsInOrder) {
  std::vector<std::string_view> names;
  for (const DatasetInfo& info : datasets()) names.push_back(info.name);
  EXPECT_THAT(names,
              ElementsAre("fashion-mnist", "mnist", "cifar10", "cifar100", "imagenet", "waterbirds",
                          "celeba", "inaturalist", "image-folder", "table", "synthetic"));
}

TEST(OpenDataset, RefusesAnUnknownNameAndListsTheKnownOnes) {
  EXPECT_THAT(
      refusal("fasion-mnist", {}),
      AllOf(HasSubstr("there is no data set \"fasion-mnist\""),
            HasSubstr("fashion-mnist, mnist, cifar10, cifar100, imagenet, waterbirds, celeba, "
                      "inaturalist, image-folder, table, synthetic")));
}

TEST(OpenDataset, OpensTheMnistFamily) {
  const TemporaryFolder folder;
  put_mnist_files(folder.path(), 20);
  const Dataset fashion = open_dataset("fashion-mnist", in_folder(folder.path()));
  EXPECT_EQ(fashion.name, "fashion-mnist");
  EXPECT_THAT(fashion.class_names,
              ElementsAre("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt",
                          "Sneaker", "Bag", "Ankle boot"));
  EXPECT_EQ(fashion.channels, 1);
  EXPECT_THAT(fashion.normalization.mean, ElementsAre(FloatEq(0.2860F)));
  EXPECT_THAT(fashion.normalization.deviation, ElementsAre(FloatEq(0.3530F)));
  EXPECT_EQ(fashion.train.size(), 20);
  const Dataset mnist = open_dataset("mnist", in_folder(folder.path()));
  EXPECT_EQ(mnist.class_names[4], "4");
  EXPECT_THAT(mnist.normalization.mean, ElementsAre(FloatEq(0.1307F)));
}

TEST(OpenDataset, OpensCifarAndImageFolders) {
  const TemporaryFolder folder;
  put_cifar10_files(folder / "cifar", 1);
  const Dataset cifar = open_dataset("cifar10", in_folder(folder / "cifar"));
  EXPECT_EQ(cifar.train.size(), 5);
  EXPECT_THAT(cifar.normalization.deviation,
              ElementsAre(FloatEq(0.2470F), FloatEq(0.2435F), FloatEq(0.2616F)));
  for (const char* name : {"images/train/a/1.png", "images/val/a/1.png"}) {
    put_file(folder / name, encode_png(counting_image(2, 2, 3)));
  }
  const Dataset images = open_dataset("image-folder", in_folder(folder / "images"));
  EXPECT_EQ(images.channels, 3);
  EXPECT_THAT(images.normalization.mean,
              ElementsAre(FloatEq(0.485F), FloatEq(0.456F), FloatEq(0.406F)));
}

TEST(OpenDataset, HandsOptionsToTheImageFolder) {
  const TemporaryFolder folder;
  for (int i = 0; i < 4; ++i) {
    put_file(folder / ("a/" + std::to_string(i) + ".png"), encode_png(counting_image(2, 2, 3)));
  }
  put_file(folder / "a/bad.png", "bad");
  DatasetOptions options = in_folder(folder.path());
  options.skip_bad = true;
  options.threads = 2;
  options.seed = 5;
  const Dataset dataset = open_dataset("image-folder", options);
  EXPECT_EQ(dataset.train.size() + dataset.test.size(), 4);
  EXPECT_THAT(dataset.remarks, ElementsAre(HasSubstr("1 of 5 images"), HasSubstr("(seed 5)")));
}

TEST(OpenDataset, MakesTheTrainingImagesLongTailed) {
  const TemporaryFolder folder;
  put_mnist_files(folder.path(), 40);  // 4 of each class
  DatasetOptions options = in_folder(folder.path());
  options.imbalance = 4;
  const Dataset dataset = open_dataset("mnist", options);
  // 4^(1 - j/9): 4, 3.43, 2.94, 2.52, 2.16, 1.85, 1.59, 1.36, 1.17, 1
  EXPECT_EQ(dataset.train.size(), 4 + 3 + 2 + 2 + 2 + 1 + 1 + 1 + 1 + 1);
  EXPECT_EQ(dataset.test.size(), 40);
  EXPECT_THAT(dataset.remarks, ElementsAre(HasSubstr("18 of 40 training samples are kept")));
}

TEST(OpenDataset, KeepsAPartOfTheTrainingSamplesBeforeTheLongTail) {
  const TemporaryFolder folder;
  put_mnist_files(folder.path(), 40);  // 4 of each class
  DatasetOptions options = in_folder(folder.path());
  options.train_samples = 20;
  const Dataset part = open_dataset("mnist", options);
  EXPECT_EQ(part.train.size(), 20);
  EXPECT_EQ(part.test.size(), 40);
  EXPECT_THAT(part.remarks, ElementsAre("20 of 40 training samples are kept, classes in "
                                        "proportion (seed 0)"));
  options.imbalance = 2;
  // 2^(1 - j/9) of 2 samples a class: 2, then below 2, rounded down.
  EXPECT_THAT(open_dataset("mnist", options).remarks,
              ElementsAre(HasSubstr("20 of 40"), HasSubstr("11 of 20 training samples are kept")));
  options.train_samples = 41;
  EXPECT_THAT(refusal("mnist", options), HasSubstr("41 training samples to keep"));
}

TEST(OpenDataset, RefusesOptionsOutOfRangeBeforeItReads) {
  DatasetOptions options = in_folder("/nowhere");
  options.imbalance = 0.5;
  EXPECT_THAT(refusal("mnist", options), HasSubstr("imbalance factor is 0.5"));
  options.imbalance = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(refusal("mnist", options), HasSubstr("imbalance factor is nan"));
  options.imbalance = 1;
  options.threads = 0;
  EXPECT_THAT(refusal("mnist", options), HasSubstr("threads is 0; it must lie between 1 and 4096"));
}

TEST(OpenDataset, SaysWhereToGetWhatHasNoUsualPlace) {
  EXPECT_THAT(refusal("cifar10", {}),
              AllOf(HasSubstr("cifar10: its folder is unknown; give it with the option data"),
                    HasSubstr("cifar-10-binary.tar.gz"),
                    HasSubstr("https://www.cs.toronto.edu/~kriz/cifar.html")));
  for (const char* name : {"mnist", "imagenet", "waterbirds", "celeba", "inaturalist"}) {
    EXPECT_THAT(refusal(name, {}), AllOf(HasSubstr("the option data"), HasSubstr("from http")));
  }
  EXPECT_THAT(refusal("image-folder", {}),
              HasSubstr("the option data, a folder with train and val"));
  EXPECT_THAT(
      refusal("cifar100", in_folder("/nowhere")),
      AllOf(HasSubstr("cifar100: there is no folder /nowhere"), HasSubstr("unpack https:")));
}

TEST(OpenDataset, GeneratesTheSyntheticOneWithoutAFolder) {
  EXPECT_EQ(open_dataset("synthetic", {}).train.size(), 6000);
  EXPECT_THAT(refusal("synthetic", in_folder("/tmp")), HasSubstr("so give none"));
}

TEST(OpenDataset, OpensTheFashionMnistOfDebian) {
  if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz")) {
    GTEST_SKIP() << "dataset-fashion-mnist is not installed";
  }
  const Dataset dataset = open_dataset("fashion-mnist", {});
  EXPECT_EQ(dataset.train.size(), 60000);
  EXPECT_EQ(dataset.test.size(), 10000);
  EXPECT_THAT(dataset.remarks, testing::IsEmpty());
  EXPECT_THAT(std::span(dataset.train.labels).first(5), ElementsAre(9, 0, 0, 3, 0));
}

}  // namespace
}  // namespace rcap
