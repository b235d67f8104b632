#include "data/sets/cifar_reader.hpp"

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "data/sample_files.hpp"
#include "rcap/core/error.hpp"
#include "temporary_folder.hpp"

namespace rcap {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class ReadCifar : public testing::Test {
 protected:
  [[nodiscard]] Dataset read(CifarKind kind) const { return read_cifar(folder_.path(), kind); }
  [[nodiscard]] std::string refusal(CifarKind kind) const {
    return message_of<BadFile>([&] { (void)read(kind); });
  }
  void put_cifar100_files(int count) const {
    put_file(folder_ / "cifar-100-binary/train.bin", cifar_records(count, 2, 100));
    put_file(folder_ / "cifar-100-binary/test.bin", cifar_records(1, 2, 100));
  }

  TemporaryFolder folder_;
};

TEST_F(ReadCifar, TurnsPlanesIntoPixels) {
  put_cifar10_files(folder_.path(), 12);
  const Dataset dataset = read(CifarKind::Cifar10);
  ASSERT_EQ(dataset.train.size(), 60);
  ASSERT_EQ(dataset.test.size(), 12);
  EXPECT_THAT(std::span(dataset.train.labels).subspan(8, 6), ElementsAre(8, 9, 0, 1, 0, 1));
  Image unused;
  const ImageView view = dataset.train.images->read(14, unused);  // record 2 of the second file
  EXPECT_EQ(view.bytes(), 3072U);
  EXPECT_THAT(std::span(view.pixels, 6), ElementsAre(6, 7, 8, 6, 7, 8));
  EXPECT_EQ(dataset.train.images->name_of(14), "data_batch_2.bin, image 2");
  EXPECT_EQ(dataset.train.images->fixed_shape(), (ImageShape{32, 32, 3}));
}

TEST_F(ReadCifar, KeepsTheOrderOfPixels) {
  put_cifar10_files(folder_.path(), 1);
  Bytes record{3};
  for (int channel = 0; channel < 3; ++channel) {
    const Bytes plane = counting_bytes(1024, 100 * channel);
    record.insert(record.end(), plane.begin(), plane.end());
  }
  put_file(folder_ / "test_batch.bin", record);
  const Dataset dataset = read(CifarKind::Cifar10);
  Image unused;
  const ImageView view = dataset.test.images->read(0, unused);
  EXPECT_THAT(std::span(view.pixels, 6), ElementsAre(0, 100, 200, 1, 101, 201));
  EXPECT_THAT(std::span(view.pixels + 32 * 3, 3), ElementsAre(32, 132, 232));
}

TEST_F(ReadCifar, TakesTheFineLabelOfCifar100) {
  put_cifar100_files(100);
  const Dataset dataset = read(CifarKind::Cifar100);
  EXPECT_EQ(dataset.train.labels[99], 99);
  EXPECT_EQ(dataset.class_count(), 100);
  EXPECT_EQ(dataset.class_names[7], "class 7");
}

TEST_F(ReadCifar, TakesNamesFromTheFileBesideElseTheKnownOnes) {
  put_cifar10_files(folder_ / "cifar-10-batches-bin", 1);
  EXPECT_EQ(read(CifarKind::Cifar10).class_names[9], "truck");
  put_file(folder_ / "cifar-10-batches-bin/batches.meta.txt", "a\nb\r\nc\nd\ne\nf\ng\nh\ni\nj\n\n");
  EXPECT_THAT(read(CifarKind::Cifar10).class_names,
              ElementsAre("a", "b", "c", "d", "e", "f", "g", "h", "i", "j"));
  put_file(folder_ / "cifar-10-batches-bin/batches.meta.txt", "a\nb\n");
  EXPECT_THAT(refusal(CifarKind::Cifar10), HasSubstr("batches.meta.txt: holds 2 names"));
}

TEST_F(ReadCifar, RemarksOnFilesOfAnotherLength) {
  put_cifar10_files(folder_.path(), 2);
  const Dataset dataset = read(CifarKind::Cifar10);
  ASSERT_THAT(dataset.remarks, AllOf(SizeIs(6), Each(HasSubstr("the official file has 10000"))));
  EXPECT_EQ(dataset.remarks[0], "data_batch_1.bin holds 2 images, the official file has 10000");
}

TEST_F(ReadCifar, RefusesLengthsThatAreNotWholeRecords) {
  put_cifar10_files(folder_.path(), 2);
  Bytes records = cifar_records(2, 1, 10);
  records.pop_back();
  put_file(folder_ / "data_batch_3.bin", records);
  EXPECT_THAT(refusal(CifarKind::Cifar10),
              AllOf(HasSubstr("data_batch_3.bin: holds 6145 bytes"), HasSubstr("3073 bytes")));
  put_file(folder_ / "data_batch_3.bin", Bytes{});
  EXPECT_THAT(refusal(CifarKind::Cifar10), HasSubstr("data_batch_3.bin: holds 0 bytes"));
}

TEST_F(ReadCifar, RefusesLabelsOutOfRange) {
  put_cifar10_files(folder_.path(), 2);
  put_file(folder_ / "data_batch_5.bin", cifar_records(12, 1, 11));
  EXPECT_THAT(
      refusal(CifarKind::Cifar10),
      HasSubstr(
          "data_batch_5.bin: label of image 10 is 10; CIFAR-10 labels must lie between 0 and 9"));
  put_cifar100_files(1);
  Bytes record = cifar_records(1, 2, 100);
  record[0] = 20;
  put_file(folder_ / "cifar-100-binary/test.bin", record);
  EXPECT_THAT(refusal(CifarKind::Cifar100), HasSubstr("test.bin: coarse label of image 0 is 20"));
  record[0] = 19;
  record[1] = 100;
  put_file(folder_ / "cifar-100-binary/test.bin", record);
  EXPECT_THAT(refusal(CifarKind::Cifar100), HasSubstr("fine label of image 0 is 100"));
}

TEST_F(ReadCifar, NamesTheFileThatIsMissing) {
  put_cifar10_files(folder_.path(), 1);
  std::filesystem::remove(folder_ / "data_batch_4.bin");
  EXPECT_THAT(refusal(CifarKind::Cifar10), HasSubstr("data_batch_4.bin: there is no such file"));
}

TEST_F(ReadCifar, SaysWhatToDoWhereTheFilesAreNot) {
  EXPECT_THAT(refusal(CifarKind::Cifar10),
              AllOf(HasSubstr("has no data_batch_1.bin"), HasSubstr("in cifar-10-batches-bin"),
                    HasSubstr("unpack cifar-10-binary.tar.gz")));
  put_cifar100_files(1);
  EXPECT_THAT(refusal(CifarKind::Cifar10),
              HasSubstr("holds CIFAR-100, not CIFAR-10; open it as cifar100"));
}

TEST_F(ReadCifar, RefusesTheirPythonVersion) {
  put_file(folder_ / "cifar-10-batches-py/data_batch_1", "\x80\x02}q");
  EXPECT_THAT(refusal(CifarKind::Cifar10),
              AllOf(HasSubstr("data_batch_1: belongs to the Python version of CIFAR-10"),
                    HasSubstr("use the binary archive, cifar-10-binary.tar.gz")));
  put_file(folder_ / "train", "\x80\x02}q");
  EXPECT_THAT(refusal(CifarKind::Cifar100), HasSubstr("/train: belongs to the Python version"));
  put_cifar10_files(folder_.path(), 1);
  put_file(folder_ / "data_batch_1.bin", "\x80\x02}q");
  EXPECT_THAT(refusal(CifarKind::Cifar10), HasSubstr("data_batch_1.bin: belongs to the Python"));
}

}  // namespace
}  // namespace rcap
