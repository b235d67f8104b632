#include "rcap/core/filter.hpp"

#include <cstring>
#include <fstream>
#include <limits>

#define XXH_INLINE_ALL
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include "core/expect_throw.hpp"
#include "file_bytes.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/pruner.hpp"
#include "rcap/core/random_stream.hpp"
#include "temporary_folder.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

using Ids = std::vector<SampleId>;
using Floats = std::vector<float>;

/// Three of 70 samples, not in order: 3, 64 and 69 weigh 0.5, 1 and 2.
Filter small_filter() { return {4, 70, Ids{69, 3, 64}, Floats{2, 0.5, 1}}; }

std::vector<std::uint8_t> mask_of(const Filter& filter, const Ids& ids) {
  std::vector<std::uint8_t> mask(ids.size());
  filter.keep(ids, mask);
  return mask;
}

Floats weights_of(const Filter& filter, const Ids& ids) {
  Floats weights(ids.size());
  filter.weigh(ids, weights);
  return weights;
}

std::string bytes_of(const Filter& filter) {
  const auto bytes = filter.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const std::byte> in_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

template <class T>
void write_at(std::string& bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

/// Puts length and checksum right again.
std::string resealed_filter(std::string bytes) {
  write_at(bytes, 16, static_cast<std::uint64_t>(bytes.size()));
  const std::uint64_t checksum = XXH64(bytes.data(), bytes.size() - 8, 0);
  write_at(bytes, bytes.size() - 8, checksum);
  return bytes;
}

template <class Expected = BadFile>
std::string refusal_of_filter(const std::string& bytes) {
  return message_of<Expected>([&] { (void)Filter::from_bytes(in_bytes(bytes)); });
}

TEST(Filter, KeepsTheSamplesOfItsSelection) {
  const Filter filter({.epoch = 7, .ids = {1, 2, 64}, .weights = {}}, 65);
  EXPECT_EQ(filter.epoch(), 7);
  EXPECT_EQ(filter.sample_count(), 65);
  EXPECT_EQ(filter.kept_count(), 3);
  EXPECT_FALSE(filter.weighs());
  EXPECT_THAT(mask_of(filter, {64, 0, 2, 1, 63}), ElementsAre(1, 0, 1, 1, 0));
  EXPECT_THAT(weights_of(filter, {64, 0, 2}), ElementsAre(1, 0, 1));
  EXPECT_TRUE(filter.contains(64));
  EXPECT_FALSE(filter.contains(63));
  EXPECT_THAT(filter.ids(), ElementsAre(1, 2, 64));
}

TEST(Filter, KnowsTheWeightsOfWhatItKeeps) {
  const Filter filter = small_filter();
  EXPECT_TRUE(filter.weighs());
  EXPECT_THAT(weights_of(filter, {3, 64, 69, 4, 68}), ElementsAre(0.5, 1, 2, 0, 0));
}

TEST(Filter, AgreesWithATableOfAllSamples) {
  // Sizes around words and blocks of 512 samples.
  for (const std::int64_t n : {1, 63, 64, 65, 511, 512, 513, 1024, 5000}) {
    SCOPED_TRACE(n);
    const RandomStream random(1, Purpose::Synthetic, n);
    Ids all, kept;
    Floats weights, table(static_cast<std::size_t>(n));
    for (SampleId id = n - 1; id >= 0; --id) {
      all.push_back(id);
      if (random.uniform(id) >= 0.3) continue;
      kept.push_back(id);
      weights.push_back(static_cast<float>(random.uniform(n + id)) + 0.5F);
      table[static_cast<std::size_t>(id)] = weights.back();
    }
    const Filter filter(0, n, kept, weights);
    const Floats found = weights_of(Filter::from_bytes(filter.bytes()), all);
    EXPECT_THAT(Floats(found.rbegin(), found.rend()), ElementsAreArray(table));
    EXPECT_THAT(filter.ids(), ElementsAreArray(kept.rbegin(), kept.rend()));
  }
}

TEST(Filter, MayKeepNothingOfNothing) {
  const Filter filter(0, 0, {}, {});
  EXPECT_EQ(filter.kept_count(), 0);
  EXPECT_THAT(Filter::from_bytes(filter.bytes()).ids(), IsEmpty());
}

TEST(Filter, NamesTheSampleThatItDoesNotKnow) {
  const Filter filter = small_filter();
  for (const SampleId id : {SampleId{-1}, SampleId{70}, std::numeric_limits<SampleId>::max()}) {
    const std::string expected =
        "sample " + std::to_string(id) + " is not in the filter, which knows 70 samples";
    EXPECT_THAT(message_of<InvalidArgument>([&] { (void)filter.contains(id); }),
                StartsWith("contains: " + expected));
    EXPECT_THAT(message_of<InvalidArgument>([&] {
                  (void)mask_of(filter, {3, id});
                }),
                StartsWith("keep: " + expected));
    EXPECT_THAT(message_of<InvalidArgument>([&] {
                  (void)weights_of(filter, {3, id});
                }),
                StartsWith("weigh: " + expected));
  }
}

TEST(Filter, RefusesWhatIsNoSelection) {
  const auto refusal = [](std::int64_t epoch, std::int64_t n, const Ids& ids, const Floats& w) {
    return message_of<InvalidArgument>([&] { (void)Filter(epoch, n, ids, w); });
  };
  EXPECT_THAT(refusal(0, 5, {1, 2, 1}, {}), HasSubstr("sample 1 comes twice"));
  EXPECT_THAT(refusal(0, 5, {1, 5}, {}), HasSubstr("sample 5 does not exist"));
  EXPECT_THAT(refusal(0, 5, {-1}, {}), HasSubstr("sample -1 does not exist"));
  EXPECT_THAT(refusal(-1, 5, {1}, {}), HasSubstr("epoch -1 of 5 samples"));
  EXPECT_THAT(refusal(0, 5, {1, 2}, {1}), HasSubstr("1 weights for 2 ids"));
  EXPECT_THAT(refusal(0, 5, {1, 2}, {1, -1}), HasSubstr("the weight of sample 2 is -1"));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(refusal(0, 5, {1, 2}, {nan, 1}), HasSubstr("the weight of sample 1 is nan"));
}

TEST(Filter, IsTheBytesOfTheDocs) {
  // docs/select.md: 3 and 9 of 10 samples in epoch 2, with weights 1.5 and 2.
  const Filter filter(2, 10, Ids{3, 9}, Floats{1.5, 2});
  const std::string bytes = bytes_of(filter);
  ASSERT_EQ(bytes.size(), 96);
  std::string expected(96, '\0');
  expected.replace(0, 8, "RCAPFILT");
  write_at(expected, 8, std::uint32_t{1});
  write_at(expected, 12, std::uint32_t{1});
  write_at(expected, 24, std::int64_t{2});
  write_at(expected, 32, std::int64_t{10});
  write_at(expected, 40, std::int64_t{2});
  write_at(expected, 64, std::uint64_t{0b10'0000'1000});
  write_at(expected, 80, 1.5F);
  write_at(expected, 84, 2.0F);
  EXPECT_EQ(bytes, resealed_filter(expected));
  EXPECT_EQ(bytes_of(Filter(2, 10, Ids{3, 9}, {})).size(), 80);
}

// ---- files

TEST(Filter, IsLoadedAsItWasSaved) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "epoch.filter";
  small_filter().save(path);
  const Filter loaded = Filter::load(path);
  EXPECT_EQ(read_bytes(path), bytes_of(small_filter()));
  EXPECT_EQ(bytes_of(loaded), bytes_of(small_filter()));
  EXPECT_EQ(loaded.epoch(), 4);
  EXPECT_THAT(weights_of(loaded, {3, 64, 69, 4}), ElementsAre(0.5, 1, 2, 0));
  // Who has loaded a filter keeps it when another one takes its place.
  const Filter copy = loaded;
  Filter(5, 70, Ids{8}, {}).save(path);
  EXPECT_THAT(copy.ids(), ElementsAre(3, 64, 69));
  EXPECT_THAT(Filter::load(path).ids(), ElementsAre(8));
}

TEST(Filter, TellsThatThereIsNoFile) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "none";
  EXPECT_THAT(message_of<BadFile>([&] { (void)Filter::load(path); }),
              AllOf(StartsWith("Filter \"" + path.string()), HasSubstr("cannot be opened")));
  EXPECT_THAT(message_of<BadFile>([&] { small_filter().save(path / "file"); }),
              StartsWith("save_filter \"" + path.string()));
}

TEST(Filter, RefusesEveryTruncation) {
  const std::string bytes = bytes_of(small_filter());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    SCOPED_TRACE(length);
    EXPECT_THAT(refusal_of_filter(bytes.substr(0, length)), StartsWith("Filter: "));
    if (length >= 72) {
      EXPECT_THAT(refusal_of_filter(resealed_filter(bytes.substr(0, length))),
                  HasSubstr("its head is wrong"));
    }
  }
  EXPECT_THAT(refusal_of_filter(resealed_filter(bytes + std::string(8, '\0'))),
              HasSubstr("its head is wrong"));
}

TEST(Filter, RefusesEveryFlippedBit) {
  const std::string bytes = bytes_of(small_filter());
  for (std::size_t i = 0; i < 8 * bytes.size(); ++i) {
    SCOPED_TRACE(i);
    std::string flipped = bytes;
    flipped[i / 8] = static_cast<char>(flipped[i / 8] ^ (1 << (i % 8)));
    const bool in_version = i >= 64 && i < 96;
    EXPECT_THAT(in_version ? refusal_of_filter<StateMismatch>(flipped) : refusal_of_filter(flipped),
                StartsWith("Filter: "));
  }
}

TEST(Filter, RefusesWhatOnlyItsWriterCouldHaveMadeWrong) {
  const auto with = [](std::size_t offset, auto value) {
    std::string bytes = bytes_of(small_filter());
    write_at(bytes, offset, value);
    return refusal_of_filter(resealed_filter(bytes));
  };
  constexpr std::int64_t Huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(with(12, std::uint32_t{2}), HasSubstr("its head is wrong"));
  EXPECT_THAT(with(24, std::int64_t{-1}), HasSubstr("its head is wrong: epoch -1"));
  EXPECT_THAT(with(32, std::int64_t{-1}), HasSubstr("3 of -1 samples"));
  EXPECT_THAT(with(32, Huge), HasSubstr("its head is wrong"));
  EXPECT_THAT(with(40, Huge), HasSubstr("its head is wrong"));
  EXPECT_THAT(with(48, std::uint64_t{1}), HasSubstr("its head is wrong"));
  EXPECT_THAT(with(40, std::int64_t{4}), HasSubstr("its bits are not 4 of 70 samples"));
  EXPECT_THAT(with(32, std::int64_t{69}), HasSubstr("its bits are not 3 of 69 samples"));
  EXPECT_THAT(with(80, std::uint64_t{1}), HasSubstr("its weights are wrong"));
  EXPECT_THAT(with(88, -1.0F), HasSubstr("its weights are wrong"));
  EXPECT_THAT(refusal_of_filter("numpy"), HasSubstr("is not a filter of rcap"));
  EXPECT_THAT(refusal_of_filter("RCAPFILT"), HasSubstr("has 8 bytes, a filter has at least 72"));
}

}  // namespace
}  // namespace rcap
