#include "data/packs/pack_images.hpp"

#include <chrono>
#include <fcntl.h>
#include <semaphore>
#include <unistd.h>

#include <gmock/gmock.h>
#include <sys/file.h>

#include "base/file_handle.hpp"
#include "core/expect_throw.hpp"
#include "data/packs/packed_samples.hpp"
#include "file_size_limit.hpp"
#include "temporary_folder.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Not;
using testing::Pair;

const Dataset Small = small_dataset();

/// Packs until `count` images are safe, then stops.
void pack_part(const fs::path& out, std::int64_t count, const PackOptions& options = {}) {
  EXPECT_EQ(pack_images(Small, "root", out, options,
                        [count](const PackProgress& progress) { return progress.done < count; }),
            std::nullopt);
}

/// A fresh folder for packs, and what the whole pack looks like.
class PackImages : public testing::Test {
 protected:
  PackImages() : out_(folder_ / "a.pack"), whole_(pack(Small, folder_ / "whole.pack")) {
    fs::remove(folder_ / "whole.pack");
  }

  void expect_whole(const Bytes& bytes) {
    EXPECT_TRUE(bytes == whole_);
    EXPECT_THAT(files_in(folder_.path()), ElementsAre(Key("a.pack")));
  }

  std::string refusal(const Dataset& dataset, const PackOptions& options) {
    const auto before = files_in(folder_.path());
    const std::string message =
        message_of<BadFile>([&] { (void)pack_images(dataset, "root", out_, options); });
    EXPECT_EQ(files_in(folder_.path()), before);
    return message;
  }

  TemporaryFolder folder_;
  fs::path out_;
  Bytes whole_;
};

TEST_F(PackImages, GivesTheSameBytesWithAnyNumberOfThreads) {
  for (const int threads : {1, 2, 7})
    expect_whole(pack(Small, out_, {.restart = true, .threads = threads}));
}

TEST_F(PackImages, KeepsTheOrderWhereTheFirstImageTakesLongest) {
  /// The first image comes when the third is asked for.
  class SlowFirst final : public ImageSource {
   public:
    [[nodiscard]] std::int64_t size() const noexcept override { return 3; }
    [[nodiscard]] ImageView read(SampleId id, Image& buffer) const override {
      if (id == 2) third_.release();
      if (id == 0) {
        EXPECT_TRUE(third_.try_acquire_for(std::chrono::seconds(20)));
      }
      return Small.train.images->read(id, buffer);
    }
    [[nodiscard]] std::string name_of(SampleId id) const override {
      return Small.train.images->name_of(id);
    }

   private:
    mutable std::binary_semaphore third_{0};
  };
  Dataset slow = Small;
  slow.train.images = std::make_shared<SlowFirst>();
  expect_whole(pack(slow, out_, {.threads = 2}));
}

TEST_F(PackImages, GoesOnAfterAStopAtEveryImage) {
  for (const int threads : {1, 3}) {
    for (std::int64_t count = 0; count <= 5; ++count) {
      SCOPED_TRACE(count);
      pack_part(out_, count, {.threads = threads});
      EXPECT_FALSE(fs::exists(out_));
      const auto summary = pack_images(Small, "root", out_, {.threads = threads});
      ASSERT_TRUE(summary);
      EXPECT_EQ(summary->done_before, count);
      EXPECT_EQ(summary->train_count, 3);
      EXPECT_EQ(summary->test_count, 2);
      expect_whole(get_file(out_));
      fs::remove(out_);
    }
  }
}

TEST_F(PackImages, GoesOnAfterManyStops) {
  for (std::int64_t count = 1; count <= 5; ++count) pack_part(out_, count);
  expect_whole(pack(Small, out_));
}

// What a kill leaves behind: a log that ends anywhere, a partial file that is longer than the
// log tells.
TEST_F(PackImages, GoesOnWithALogThatEndsAnywhere) {
  pack_part(out_, 2);
  pack_part(out_, 3);
  pack_part(out_, 4);
  const auto stopped = files_in(folder_.path());
  const Bytes& log = stopped.at("a.pack.partial.log");
  // Commits of two, one and one image: each has two numbers, its records and a checksum.
  const std::size_t head = log.size() - (8 + 32 + 8) - 2 * (8 + 16 + 8);
  std::vector<std::size_t> sizes{head - 1,  head,      head + 1,  head + 47,
                                 head + 48, head + 79, head + 80, log.size() - 1};
  for (std::size_t size = 0; size < log.size(); size += 13) sizes.push_back(size);
  for (const std::size_t size : sizes) {
    SCOPED_TRACE(size);
    put_file(folder_ / "a.pack.partial", stopped.at("a.pack.partial"));
    put_file(folder_ / "a.pack.partial.log",
             Bytes(log.begin(), log.begin() + static_cast<std::ptrdiff_t>(size)));
    if (size < head) {  // written in one go, so this is damage
      EXPECT_THAT(refusal(Small, {}), HasSubstr("start over with restart"));
    } else {
      const auto summary = pack_images(Small, "root", out_, {});
      EXPECT_EQ(summary->done_before, size < head + 48 ? 0 : size < head + 80 ? 2 : 3);
      expect_whole(get_file(out_));
      fs::remove(out_);
    }
  }
}

// What a power cut can leave behind: a commit with other bytes in it.
TEST_F(PackImages, MakesAgainWhatADamagedCommitTellsOf) {
  pack_part(out_, 3);
  pack_part(out_, 4);
  const auto stopped = files_in(folder_.path());
  for (std::size_t from_end = 1; from_end <= 8 + 16 + 8; from_end += 3) {
    SCOPED_TRACE(from_end);
    Bytes log = stopped.at("a.pack.partial.log");
    log[log.size() - from_end] ^= 1;
    put_file(folder_ / "a.pack.partial", stopped.at("a.pack.partial"));
    put_file(folder_ / "a.pack.partial.log", log);
    EXPECT_EQ(pack_images(Small, "root", out_, {})->done_before, 3);
    expect_whole(get_file(out_));
    fs::remove(out_);
  }
}

TEST_F(PackImages, MakesAgainWhatWasNotCommitted) {
  pack_part(out_, 2);
  Bytes partial = get_file(folder_ / "a.pack.partial");
  partial.resize(partial.size() + 2000, 0xee);
  put_file(folder_ / "a.pack.partial", partial);
  expect_whole(pack(Small, out_));
}

TEST_F(PackImages, GoesOnBeforeTheFileGetsItsName) {
  pack_part(out_, 5);
  put_file(folder_ / "a.pack.partial", whole_);
  expect_whole(pack(Small, out_));
}

TEST_F(PackImages, GoesOnAfterTheFileGotItsName) {
  pack_part(out_, 5);
  fs::remove(folder_ / "a.pack.partial");
  put_file(out_, whole_);
  EXPECT_EQ(pack_images(Small, "root", out_, {})->done_before, 5);
  expect_whole(get_file(out_));
}

TEST_F(PackImages, BeginsWithoutALogOrWithoutAPartialFile) {
  for (const char* lost : {"a.pack.partial", "a.pack.partial.log"}) {
    pack_part(out_, 3);
    fs::remove(folder_ / lost);
    EXPECT_EQ(pack_images(Small, "root", out_, {})->done_before, 0);
    expect_whole(get_file(out_));
    fs::remove(out_);
  }
}

TEST_F(PackImages, RefusesAPartialFileThatLostBytes) {
  pack_part(out_, 3);
  fs::resize_file(folder_ / "a.pack.partial", 351);
  EXPECT_THAT(refusal(Small, {}),
              AllOf(HasSubstr("a.pack.partial: has 351 bytes, but its log lists 352"),
                    HasSubstr("with restart")));
  expect_whole(pack(Small, out_, {.restart = true}));
}

TEST_F(PackImages, TellsWhatDiffersFromTheStart) {
  pack_part(out_, 2);
  EXPECT_THAT(
      refusal(Small, {.recipe = {.center_crop = 2, .resize = 8}}),
      AllOf(HasSubstr("a.pack.partial: was begun with center-crop = 0, now center-crop = 2"),
            HasSubstr("resize = 0, now resize = 8"), Not(HasSubstr("train =")),
            HasSubstr("with restart")));
  EXPECT_THAT(refusal(Small, {.recipe = {.interpolation = Interpolation::Bicubic}}),
              HasSubstr("interpolation = bilinear, now interpolation = bicubic"));
  Dataset shorter = Small;
  shorter.train = subset(Small.train, std::vector<SampleId>{0, 1});
  EXPECT_THAT(refusal(shorter, {}), AllOf(HasSubstr("begun with train = 3 images (list "),
                                          HasSubstr("now train = 2 images")));
  Dataset relabelled = Small;
  relabelled.test.labels[0] = 0;
  EXPECT_THAT(refusal(relabelled, {}), HasSubstr("begun with test = 2 images"));
  Dataset renamed = Small;
  renamed.class_names[0] = "lion";
  EXPECT_THAT(refusal(renamed, {}), HasSubstr("begun with classes = 2 (names "));
  Dataset other = Small;
  other.name = "waterbirds";
  EXPECT_THAT(refusal(other, {}), HasSubstr("dataset = image-folder, now dataset = waterbirds"));
  expect_whole(pack(Small, out_));
}

TEST_F(PackImages, ReplacesAFileOnlyWhenToldTo) {
  (void)pack(Small, out_, {.recipe = {.resize = 4}});
  EXPECT_THAT(refusal(Small, {}),
              AllOf(HasSubstr("a.pack: exists, but is not a pack"), HasSubstr("with restart")));
  put_file(out_, "a text");
  EXPECT_THAT(refusal(Small, {}), HasSubstr("a.pack: exists, but is not a pack"));
  expect_whole(pack(Small, out_, {.restart = true}));
  // The same again is done already.
  EXPECT_EQ(pack_images(Small, "root", out_, {})->done_before, 5);
}

TEST_F(PackImages, RefusesAFolderThatIsNotThere) {
  EXPECT_THAT(
      message_of<BadFile>([&] { (void)pack_images(Small, "root", folder_ / "no/a.pack", {}); }),
      HasSubstr("there is no folder"));
}

TEST_F(PackImages, RefusesASecondProcess) {
  pack_part(out_, 2);
  const FileHandle other(::open((folder_ / "a.pack.partial").c_str(), O_RDWR));
  ASSERT_EQ(::flock(other.get(), LOCK_EX), 0);
  EXPECT_THAT(refusal(Small, {}), HasSubstr("another process is packing into it"));
}

TEST_F(PackImages, KeepsWhatIsSafeWhenTheDiskIsFull) {
  for (const rlim_t limit : {400, 440, 500, 700}) {
    SCOPED_TRACE(limit);
    {
      const FileSizeLimit full(limit);
      EXPECT_THAT(message_of<BadFile>([&] { (void)pack(Small, out_); }),
                  AllOf(HasSubstr("a.pack.partial: cannot be written"),
                        HasSubstr("free some space and run the same command again")));
    }
    EXPECT_FALSE(fs::exists(out_));
    expect_whole(pack(Small, out_));
    fs::remove(out_);
  }
}

TEST_F(PackImages, NamesTheFirstImageThatCannotBeDecoded) {
  const Dataset bad = small_dataset({1, 2});
  for (const int threads : {1, 4}) {
    EXPECT_THAT(
        message_of<BadFile>([&] { (void)pack_images(bad, "root", out_, {.threads = threads}); }),
        AllOf(HasSubstr("root/train/1.jpg: cannot be decoded; 1 images before it are packed"),
              HasSubstr("with skip-bad")));
  }
  // Replaced, it goes on.
  expect_whole(pack(Small, out_));
}

TEST_F(PackImages, LeavesBadImagesOut) {
  const Dataset bad = small_dataset({2});
  const auto summary = pack_images(bad, "root", out_, {.skip_bad = true});
  EXPECT_EQ(summary->train_count, 2);
  EXPECT_THAT(summary->left_out, ElementsAre("root/train/2.jpg: cannot be decoded"));
  const Dataset packed = open_packed(out_).dataset;
  EXPECT_THAT(packed.train.labels, ElementsAre(0, 1));
  EXPECT_THAT(packed.train.groups, ElementsAre(1, 0));
  EXPECT_THAT(packed.remarks, ElementsAre("a remark",
                                          "1 of 5 images cannot be decoded and are left out: "
                                          "root/train/2.jpg: cannot be decoded"));
  const Bytes whole = get_file(out_);
  fs::remove(out_);
  // Found bad by a start without --skip-bad, or stopped behind it: the same file.
  EXPECT_THROW((void)pack_images(bad, "root", out_, {}), BadFile);
  EXPECT_EQ(pack_images(bad, "root", out_, {.skip_bad = true},
                        [](const PackProgress& progress) { return progress.done < 4; }),
            std::nullopt);
  EXPECT_THAT(refusal(bad, {}), HasSubstr("1 images are left out of it; continue with skip-bad"));
  EXPECT_TRUE(pack(bad, out_, {.skip_bad = true}) == whole);
}

TEST_F(PackImages, RefusesAClassOfBadImages) {
  EXPECT_THAT(message_of<BadFile>(
                  [&] { (void)pack_images(small_dataset({0}), "root", out_, {.skip_bad = true}); }),
              AllOf(HasSubstr("no training image of class cat can be decoded"),
                    HasSubstr("root/train/0.jpg")));
  EXPECT_FALSE(fs::exists(out_));
}

TEST_F(PackImages, RefusesOptionsThatMakeNoSense) {
  const auto message = [&](const PackRecipe& recipe) {
    return message_of<InvalidArgument>(
        [&] { (void)pack_images(Small, "root", out_, {.recipe = recipe}); });
  };
  EXPECT_THAT(message({.resize = -1}), HasSubstr("resize is -1; it must lie between 0 and 65535"));
  EXPECT_THAT(message({.center_crop = 65536}), HasSubstr("center_crop is 65536"));
  EXPECT_THAT(message({.fast_decode = true}), HasSubstr("fast decoding"));
  EXPECT_THAT(message({.fast_decode = true, .center_crop = 5, .resize = 4}),
              HasSubstr("allows no crop"));
  EXPECT_THAT(files_in(folder_.path()), IsEmpty());
}

}  // namespace
}  // namespace rcap
