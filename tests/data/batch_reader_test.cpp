#include "data/batch_reader.hpp"

#include <algorithm>
#include <deque>
#include <numeric>
#include <utility>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "data/tables/table_rows.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Images of one pixel whose level is their id; some cannot be read.
class OnePixel final : public ImageSource {
 public:
  OnePixel(std::int64_t size, bool in_memory, std::vector<SampleId> bad = {})
      : size_(size), in_memory_(in_memory), bad_(std::move(bad)) {}

  [[nodiscard]] std::int64_t size() const noexcept override { return size_; }
  [[nodiscard]] ImageView read(SampleId id, Image& buffer) const override {
    if (std::ranges::count(bad_, id) > 0) throw BadFile(name_of(id) + ": cannot be decoded");
    buffer.resize(1, 1, 1);
    buffer.pixels[0] = static_cast<std::uint8_t>(id);
    return buffer.view();
  }
  [[nodiscard]] std::string name_of(SampleId id) const override {
    return "image " + std::to_string(id);
  }
  [[nodiscard]] std::optional<ImageShape> fixed_shape() const noexcept override {
    return ImageShape{1, 1, 1};
  }
  [[nodiscard]] bool in_memory() const noexcept override { return in_memory_; }

 private:
  std::int64_t size_;
  bool in_memory_;
  std::vector<SampleId> bad_;
};

Split pixels(std::int64_t size, bool in_memory, std::vector<SampleId> bad = {}) {
  Split split;
  split.images = std::make_shared<OnePixel>(size, in_memory, std::move(bad));
  for (std::int64_t id = 0; id < size; ++id) split.labels.push_back(static_cast<ClassId>(id % 7));
  return split;
}

Transform plain() { return Transform({.normalization = {{0}, {1}}}); }

std::vector<SampleId> backwards(SampleId count) {
  std::vector<SampleId> ids(static_cast<std::size_t>(count));
  std::iota(ids.rbegin(), ids.rend(), 0);
  return ids;
}

/// Reads to the end and checks that every number belongs to its id.
std::vector<SampleId> read_all(BatchReader& reader) {
  std::vector<SampleId> seen;
  while (const Batch* batch = reader.next()) {
    for (std::size_t i = 0; i < batch->ids.size(); ++i) {
      const SampleId id = batch->ids[i];
      EXPECT_EQ(static_cast<SampleId>(batch->images[i] * 255 + 0.5F), id);
      EXPECT_EQ(batch->labels[i], id % 7);
      seen.push_back(id);
    }
  }
  return seen;
}

class BatchReaderWays : public testing::TestWithParam<bool> {};

TEST_P(BatchReaderWays, ReadsTheListInItsOrder) {
  const Split split = pixels(200, GetParam());
  BatchReader reader(split, plain(), {.batch_size = 8, .workers = 3, .batches_ahead = 2});
  const auto ids = backwards(99);
  for (int epoch = 0; epoch < 3; ++epoch) {
    reader.start(ids, 0, std::nullopt);
    EXPECT_EQ(read_all(reader), ids);
    EXPECT_EQ(reader.next(), nullptr);
  }
}

TEST_P(BatchReaderWays, BeginsWithAnyBatch) {
  const Split split = pixels(50, GetParam());
  BatchReader reader(split, plain(), {.batch_size = 4, .workers = 2, .batches_ahead = 2});
  const auto ids = backwards(50);
  for (std::int64_t first = 0; first < 14; ++first) {
    reader.start(ids, first, std::nullopt);
    const auto begin = std::min<std::size_t>(4 * static_cast<std::size_t>(first), ids.size());
    EXPECT_EQ(read_all(reader),
              std::vector(ids.begin() + static_cast<std::ptrdiff_t>(begin), ids.end()));
  }
}

TEST_P(BatchReaderWays, CanBeStartedAnewInTheMiddle) {
  const Split split = pixels(200, GetParam());
  BatchReader reader(split, plain(), {.batch_size = 8, .workers = 3, .batches_ahead = 4});
  const auto ids = backwards(200);
  for (int round = 0; round < 20; ++round) {
    reader.start(ids, 0, std::nullopt);
    for (int i = 0; i < round % 5; ++i) ASSERT_NE(reader.next(), nullptr);
  }
  reader.start(ids, 0, std::nullopt);
  EXPECT_EQ(read_all(reader), ids);
}

TEST_P(BatchReaderWays, OutlivesTheListItReads) {
  const Split split = pixels(200, GetParam());
  BatchReader reader(split, plain(), {.batch_size = 8, .workers = 3});
  auto ids = backwards(200);
  reader.start(ids, 0, std::nullopt);
  std::ranges::fill(ids, 0);
  EXPECT_EQ(read_all(reader), backwards(200));
}

TEST_P(BatchReaderWays, NamesTheFirstImageThatCannotBeRead) {
  const Split split = pixels(60, GetParam(), {41, 42, 43});
  BatchReader reader(split, plain(), {.batch_size = 10, .workers = 3});
  const auto ids = backwards(60);  // 43 comes before 42
  reader.start(ids, 0, std::nullopt);
  ASSERT_NE(reader.next(), nullptr);
  EXPECT_EQ(message_of<BadFile>([&] { (void)reader.next(); }), "image 43: cannot be decoded");
}

TEST_P(BatchReaderWays, ReadsNothingOfAnEmptyList) {
  const Split split = pixels(5, GetParam());
  BatchReader reader(split, plain(), {.batch_size = 2});
  reader.start({}, 0, std::nullopt);
  EXPECT_EQ(reader.next(), nullptr);
}

TEST_P(BatchReaderWays, GivesLevelsInThePlaceOfNumbers) {
  const Split split = pixels(200, GetParam());
  BatchReader reader(split, Transform({.crop = 1, .padding = 1, .normalization = {{0.5F}, {2}}}),
                     {.batch_size = 8, .workers = 3, .levels = true});
  reader.start(backwards(200), 0, std::nullopt);
  SampleId expected = 199;
  while (const Batch* batch = reader.next()) {
    EXPECT_TRUE(batch->images.empty());
    ASSERT_EQ(batch->levels.size(), batch->ids.size());
    for (const std::uint8_t level : batch->levels) EXPECT_EQ(level, expected--);
  }
  EXPECT_EQ(expected, -1);
}

TEST_P(BatchReaderWays, AugmentsLevelsAsNumbers) {
  const Split split = pixels(100, GetParam());
  const Transform transform({.crop = 1, .padding = 1, .normalization = {{0}, {1}}});
  BatchReader numbers(split, transform, {.batch_size = 16, .workers = 2});
  BatchReader levels(split, transform, {.batch_size = 16, .workers = 2, .levels = true});
  const auto ids = backwards(100);
  for (BatchReader* reader : {&numbers, &levels}) {
    reader->start(ids, 0, RandomStream(1, Purpose::Augmentation, 4));
  }
  while (const Batch* expected = numbers.next()) {
    const Batch* batch = levels.next();
    ASSERT_NE(batch, nullptr);
    for (std::size_t i = 0; i < batch->levels.size(); ++i) {
      EXPECT_EQ(static_cast<float>(batch->levels[i]) / 255.0F, expected->images[i]);
    }
  }
}

TEST_P(BatchReaderWays, HoldsAsManyBatchesAsItIsAskedTo) {
  const Split split = pixels(200, GetParam());
  for (const int held : {2, 3}) {
    BatchReader reader(
        split, plain(),
        {.batch_size = 2, .workers = 3, .batches_ahead = 1, .batches_held = held, .levels = true});
    reader.start(backwards(200), 3, std::nullopt);
    std::deque<Batch> batches;
    while (const Batch* batch = reader.next()) {
      batches.push_back(*batch);
      if (std::cmp_greater(batches.size(), held)) batches.pop_front();
      for (const Batch& earlier : batches) {
        for (std::size_t i = 0; i < earlier.ids.size(); ++i) {
          EXPECT_EQ(earlier.levels[i], earlier.ids[i]);
          EXPECT_EQ(earlier.labels[i], earlier.ids[i] % 7);
        }
      }
    }
  }
}

TEST_P(BatchReaderWays, MakesBatchesInTheMemoryItIsGiven) {
  const Split split = pixels(20, GetParam());
  std::vector<std::span<const std::byte>> given;
  const auto allocate = [&](std::size_t bytes) {
    const std::shared_ptr<std::byte[]> memory(new std::byte[bytes]);
    given.emplace_back(memory.get(), bytes);
    return memory;
  };
  const auto is_given = [&](const auto& values) {
    return std::ranges::any_of(given, [bytes = std::as_bytes(values)](const auto& memory) {
      return memory.data() == bytes.data() && memory.size() >= bytes.size();
    });
  };
  BatchReader reader(split, plain(), {.batch_size = 4, .workers = 2, .allocate = allocate});
  for (const SampleId count : {20, 10, 3}) {
    reader.start(backwards(count), 0, std::nullopt);
    while (const Batch* batch = reader.next()) {
      EXPECT_TRUE(is_given(batch->images));
      EXPECT_TRUE(is_given(batch->labels));
    }
  }
  // Images and labels of the one batch that is held and, with workers, of the four ahead of it;
  // what sufficed for the first list does for the shorter ones.
  EXPECT_EQ(given.size(), GetParam() ? 2U : 10U);
}

INSTANTIATE_TEST_SUITE_P(MemoryAndWorkers, BatchReaderWays, testing::Bool(),
                         [](const auto& test) { return test.param ? "memory" : "workers"; });

TEST(BatchReader, AugmentsTheSameWithAnyNumberOfWorkers) {
  const Transform transform({.crop = 1, .padding = 1, .normalization = {{0}, {1}}});
  const auto ids = backwards(100);
  const auto read = [&](bool in_memory, int workers) {
    const Split split = pixels(100, in_memory);
    BatchReader reader(split, transform, {.batch_size = 16, .workers = workers});
    reader.start(ids, 0, RandomStream(1, Purpose::Augmentation, 4));
    std::vector<float> numbers;
    while (const Batch* batch = reader.next()) {
      numbers.insert(numbers.end(), batch->images.begin(), batch->images.end());
    }
    return numbers;
  };
  const auto expected = read(true, 1);
  EXPECT_EQ(read(false, 1), expected);
  EXPECT_EQ(read(false, 5), expected);
}

TEST(BatchReader, RefusesImagesOfManySizesWithoutACrop) {
  class AnySize final : public ImageSource {
   public:
    [[nodiscard]] std::int64_t size() const noexcept override { return 1; }
    [[nodiscard]] ImageView read(SampleId, Image& buffer) const override { return buffer.view(); }
    [[nodiscard]] std::string name_of(SampleId) const override { return "an image"; }
  };
  const Split split{std::make_shared<AnySize>(), {0}, {}};
  EXPECT_THAT(
      message_of<InvalidArgument>([&] { BatchReader reader(split, plain(), {.batch_size = 2}); }),
      HasSubstr("the images differ in size"));
}

TEST(BatchReader, RefusesToHoldNoBatch) {
  EXPECT_THAT(message_of<InvalidArgument>([] {
                BatchReader reader(pixels(5, true), plain(), {.batch_size = 2, .batches_held = 0});
              }),
              HasSubstr("batches_held 0; each must be at least 1"));
}

TEST(BatchReader, CopiesRowsOfATableWithoutATransform) {
  const std::vector<float> numbers{-1.5F, 300, 0, 7, 0.25F, -4};
  const Split split{std::make_shared<TableRows>("a.csv", 2, numbers), {0, 1, 2}, {}};
  const Transform random({.resize = 8, .crop = 8, .flip = true, .trivial_augment = true});
  BatchReader reader(split, random, {.batch_size = 2, .levels = true});  // rows have no levels
  EXPECT_EQ(reader.shape(), (ImageShape{1, 1, 2}));
  const std::vector<SampleId> order{2, 0, 1};
  reader.start(order, 0, RandomStream(0, Purpose::Augmentation, 0));
  const Batch* batch = reader.next();
  ASSERT_NE(batch, nullptr);
  EXPECT_THAT(batch->images, ElementsAre(0.25F, -4, -1.5F, 300));
  EXPECT_THAT(batch->labels, ElementsAre(2, 0));
  batch = reader.next();
  ASSERT_NE(batch, nullptr);
  EXPECT_THAT(batch->images, ElementsAre(0, 7));
  EXPECT_EQ(reader.next(), nullptr);
}

}  // namespace
}  // namespace rcap
