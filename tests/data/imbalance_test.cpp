#include <algorithm>
#include <limits>
#include <set>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "data/subsample.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

using Sizes = std::vector<std::int64_t>;

std::vector<ClassId> balanced_labels(ClassId class_count, int size) {
  std::vector<ClassId> labels;
  for (int i = 0; i < class_count * size; ++i) labels.push_back(i % class_count);
  return labels;
}

TEST(ProportionalPart, KeepsTheExactCountAndThePartsOfTheClasses) {
  // 80, 16 and 4 of 100 samples; of 25 the shares are 20, 4 and 1.
  std::vector<ClassId> labels(80, 0);
  labels.insert(labels.end(), 16, 1);
  labels.insert(labels.end(), 4, 2);
  const auto kept = proportional_part(labels, 3, 25, 0);
  EXPECT_THAT(kept, SizeIs(25));
  EXPECT_TRUE(std::ranges::is_sorted(kept));
  std::vector<int> counts(3);
  for (const SampleId id : kept)
    ++counts[static_cast<std::size_t>(labels[static_cast<std::size_t>(id)])];
  EXPECT_THAT(counts, ElementsAre(20, 4, 1));
  EXPECT_EQ(proportional_part(labels, 3, 25, 0), kept);
  EXPECT_NE(proportional_part(labels, 3, 25, 1), kept);
  EXPECT_THAT(proportional_part(labels, 3, 100, 0), SizeIs(100));
}

TEST(ProportionalPart, LeavesEveryClassOneSample) {
  // The shares of 3 samples are 2.91, 0.06 and 0.03.
  std::vector<ClassId> labels(97, 0);
  labels.insert(labels.end(), {1, 1, 2});
  EXPECT_THAT(proportional_part(labels, 3, 3, 0), testing::Contains(99));
}

TEST(ProportionalPart, RefusesCountsOutOfRange) {
  const auto labels = balanced_labels(3, 4);
  for (const std::int64_t count : {-1, 0, 2, 13}) {
    EXPECT_THAT(message_of<InvalidArgument>([&] { (void)proportional_part(labels, 3, count, 0); }),
                HasSubstr(std::to_string(count) +
                          " training samples to keep; the number must lie between that of the "
                          "classes, 3, and that of all training samples, 12"));
  }
}

TEST(LongTailedSizes, FallExponentiallyFromFirstToLast) {
  // 100^(-j/9) * 5000, rounded down; the last is 5000 / 100.
  EXPECT_THAT(long_tailed_sizes(Sizes(10, 5000), 100),
              ElementsAre(5000, 2997, 1796, 1077, 645, 387, 232, 139, 83, 50));
  EXPECT_THAT(long_tailed_sizes(Sizes(3, 16), 4), ElementsAre(16, 8, 4));
}

TEST(LongTailedSizes, ShrinkTheWholeProfileWhereAClassHasTooFew) {
  // The profile is 1 : 1/2 : 1/4. Class 1 has 5, so the first class gets 10 and the last 2.
  EXPECT_THAT(long_tailed_sizes(Sizes{16, 5, 16}, 4), ElementsAre(10, 5, 2));
  EXPECT_THAT(long_tailed_sizes(Sizes{8, 6, 7}, 1), ElementsAre(6, 6, 6));
}

TEST(LongTailedSizes, LeaveEveryClassOneSample) {
  EXPECT_THAT(long_tailed_sizes(Sizes{10, 10, 10}, 1000), ElementsAre(10, 1, 1));
  EXPECT_THAT(long_tailed_sizes(Sizes{7}, 100), ElementsAre(7));
}

TEST(LongTailedSizes, AreExactWhereTheProductIsWhole) {
  // For two classes the last has size / factor, whatever the rounding of the power.
  for (std::int64_t factor = 1; factor <= 1000; ++factor) {
    EXPECT_THAT(long_tailed_sizes(Sizes{factor * 7, factor * 7}, static_cast<double>(factor)),
                ElementsAre(factor * 7, 7));
  }
}

TEST(LongTailed, KeepsThatManyOfEachClassInAscendingOrder) {
  const std::vector<ClassId> labels = balanced_labels(3, 16);
  const std::vector<SampleId> kept = long_tailed(labels, 3, 4, 5);
  EXPECT_THAT(kept, SizeIs(16 + 8 + 4));
  EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
  EXPECT_THAT(std::set<SampleId>(kept.begin(), kept.end()), SizeIs(kept.size()));
  Sizes sizes(3);
  for (const SampleId id : kept)
    ++sizes[static_cast<std::size_t>(labels[static_cast<std::size_t>(id)])];
  EXPECT_THAT(sizes, ElementsAre(16, 8, 4));
}

TEST(LongTailed, DependsOnTheSeedAlone) {
  const std::vector<ClassId> labels = balanced_labels(5, 100);
  EXPECT_EQ(long_tailed(labels, 5, 10, 1), long_tailed(labels, 5, 10, 1));
  EXPECT_NE(long_tailed(labels, 5, 10, 1), long_tailed(labels, 5, 10, 2));
}

TEST(LongTailed, RefusesAFactorBelowOneAndEmptyClasses) {
  const std::vector<ClassId> labels = balanced_labels(2, 3);
  for (const double factor : {0.5, 0.0, -3.0, std::numeric_limits<double>::quiet_NaN(),
                              std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(message_of<InvalidArgument>([&] { (void)long_tailed(labels, 2, factor, 0); }),
                HasSubstr("finite and at least 1"));
  }
  EXPECT_THAT(message_of<InvalidArgument>([&] { (void)long_tailed(labels, 3, 2, 0); }),
              HasSubstr("class 2 has no sample"));
}

}  // namespace
}  // namespace rcap
