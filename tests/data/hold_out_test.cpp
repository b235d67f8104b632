#include <algorithm>
#include <cmath>
#include <numeric>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "data/subsample.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;

std::vector<int> count_by_class(const std::vector<ClassId>& labels, ClassId class_count,
                                const std::vector<SampleId>& ids) {
  std::vector<int> counts(static_cast<std::size_t>(class_count));
  for (const SampleId id : ids) {
    ++counts[static_cast<std::size_t>(labels[static_cast<std::size_t>(id)])];
  }
  return counts;
}

std::vector<int> count_held_out(const std::vector<ClassId>& labels, ClassId class_count,
                                std::int64_t one_in) {
  const ClassIndex classes(labels, class_count);
  return count_by_class(labels, class_count,
                        hold_out(classes, one_in, 0, SubsampleUse::Recalls).held_out);
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

TEST(HoldOutPart, RoundsToTheNearestAndLeavesEveryClassASample) {
  // Sizes 8, 7, 2, 1 and 0. A fifth: 1.6, 1.4 and 0.4, but one of two; nine tenths: 7.2, 6.3 and
  // 1.8, but not both of two.
  std::vector<ClassId> labels(8, 0);
  labels.insert(labels.end(), 7, 1);
  labels.insert(labels.end(), {2, 2, 3});
  const ClassIndex classes(labels, 5);
  const auto held_out = [&](double part) {
    return count_by_class(labels, 5,
                          hold_out_part(classes, part, 0, SubsampleUse::HeldOut).held_out);
  };
  EXPECT_THAT(held_out(0.2), ElementsAre(2, 1, 1, 0, 0));
  EXPECT_THAT(held_out(0.9), ElementsAre(7, 6, 1, 0, 0));
}

TEST(HoldOutPart, RefusesNothingAndEverything) {
  const ClassIndex classes(std::vector<ClassId>(20, 0), 1);
  for (const double part : {0.0, 1.0, std::nan("")}) {
    EXPECT_THAT(message_of<InvalidArgument>(
                    [&] { (void)hold_out_part(classes, part, 0, SubsampleUse::HeldOut); }),
                testing::HasSubstr("it must lie above 0 and below 1"));
  }
}

}  // namespace
}  // namespace rcap
