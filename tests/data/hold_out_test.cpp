#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>

#include "data/subsample.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;

std::vector<int> count_held_out(const std::vector<ClassId>& labels, ClassId class_count,
                                std::int64_t one_in) {
  std::vector<int> counts(static_cast<std::size_t>(class_count));
  const ClassIndex classes(labels, class_count);
  for (const SampleId id : hold_out(classes, one_in, 0, SubsampleUse::Recalls).held_out) {
    ++counts[static_cast<std::size_t>(labels[static_cast<std::size_t>(id)])];
  }
  return counts;
}

TEST(HoldOut, RoundsDownButTakesOneOfTwoAndNoneOfOne) {
  // 29, 2 and 1 samples; class 3 has none.
  std::vector<ClassId> labels(29, 0);
  labels.insert(labels.end(), {1, 1, 2});
  EXPECT_THAT(count_held_out(labels, 4, 10), ElementsAre(2, 1, 0, 0));
  EXPECT_THAT(count_held_out(labels, 4, 5), ElementsAre(5, 1, 0, 0));
  EXPECT_THAT(count_held_out(labels, 4, 2), ElementsAre(14, 1, 0, 0));
}

TEST(HoldOut, PutsEverySampleOnOneSide) {
  const ClassIndex classes(std::vector<ClassId>(20, 0), 1);
  HeldOutSplit split = hold_out(classes, 5, 3, SubsampleUse::TableTest);
  EXPECT_THAT(split.held_out, testing::SizeIs(4));
  EXPECT_TRUE(std::ranges::is_sorted(split.kept));
  EXPECT_TRUE(std::ranges::is_sorted(split.held_out));
  std::vector<SampleId> all(20);
  std::iota(all.begin(), all.end(), 0);
  split.kept.insert(split.kept.end(), split.held_out.begin(), split.held_out.end());
  EXPECT_THAT(split.kept, testing::UnorderedElementsAreArray(all));
}

TEST(HoldOut, IsDrawnBySeedAndUse) {
  const ClassIndex classes(std::vector<ClassId>(1000, 0), 1);
  const auto held_out = hold_out(classes, 10, 3, SubsampleUse::TableTest).held_out;
  EXPECT_EQ(hold_out(classes, 10, 3, SubsampleUse::TableTest).held_out, held_out);
  EXPECT_NE(hold_out(classes, 10, 4, SubsampleUse::TableTest).held_out, held_out);
  EXPECT_NE(hold_out(classes, 10, 3, SubsampleUse::Recalls).held_out, held_out);
}

}  // namespace
}  // namespace rcap
