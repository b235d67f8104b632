#include "train/group_accuracy.hpp"

#include <cmath>

#include <gmock/gmock.h>

namespace rcap {
namespace {

GroupAccuracy three_groups(std::int64_t least_size = 1) {
  // Group 0: 3 of 4 right, group 1: 1 of 2, group 2 has no sample.
  GroupAccuracy accuracy(3, least_size);
  for (const bool correct : {true, true, true, false}) accuracy.add(0, correct);
  for (const bool correct : {true, false}) accuracy.add(1, correct);
  return accuracy;
}

TEST(GroupAccuracy, CountsGroupByGroup) {
  const auto by_group = three_groups().by_group();
  EXPECT_DOUBLE_EQ(by_group[0], 0.75);
  EXPECT_DOUBLE_EQ(by_group[1], 0.5);
}

TEST(GroupAccuracy, AGroupWithoutSamplesIsAbsentAndNotZero) {
  const GroupAccuracy accuracy = three_groups();
  EXPECT_TRUE(std::isnan(accuracy.by_group()[2]));
  EXPECT_DOUBLE_EQ(accuracy.worst(), 0.5);
  EXPECT_DOUBLE_EQ(accuracy.average(), 0.625);
  EXPECT_DOUBLE_EQ(accuracy.overall(), 4.0 / 6);
}

TEST(GroupAccuracy, AConstantPredictorOfThirteenClassesAveragesOneThirteenth) {
  GroupAccuracy accuracy(13);
  for (std::size_t group = 0; group < 13; ++group) {
    for (std::size_t i = 0; i <= group; ++i) accuracy.add(group, group == 4);
  }
  EXPECT_DOUBLE_EQ(accuracy.average(), 1.0 / 13);
  EXPECT_DOUBLE_EQ(accuracy.worst(), 0.0);
}

TEST(GroupAccuracy, WeighsGroupsAsTold) {
  EXPECT_DOUBLE_EQ(three_groups().weighted(std::vector<std::int64_t>{1, 3, 9}), 2.25 / 4);
}

TEST(GroupAccuracy, AGroupOfTooFewSamplesIsToldButDoesNotCount) {
  const GroupAccuracy accuracy = three_groups(3);
  EXPECT_DOUBLE_EQ(accuracy.by_group()[1], 0.5);
  EXPECT_DOUBLE_EQ(accuracy.worst(), 0.75);
  EXPECT_DOUBLE_EQ(accuracy.average(), 0.75);
  EXPECT_DOUBLE_EQ(accuracy.weighted(std::vector<std::int64_t>{1, 3, 9}), 0.75);
  EXPECT_DOUBLE_EQ(accuracy.overall(), 4.0 / 6);
  // As many as are asked for are enough.
  EXPECT_DOUBLE_EQ(three_groups(2).worst(), 0.5);
}

TEST(GroupAccuracy, NothingAddedIsNothingKnown) {
  EXPECT_TRUE(std::isnan(GroupAccuracy(2).worst()));
  EXPECT_TRUE(std::isnan(GroupAccuracy(2).average()));
  EXPECT_TRUE(std::isnan(GroupAccuracy(2).overall()));
}

}  // namespace
}  // namespace rcap
