#include "rcap/core/top_scores.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/times_tried.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Scores = std::vector<float>;

constexpr float Infinite = std::numeric_limits<float>::infinity();

std::vector<SampleId> top(const Scores& scores, std::int64_t count) {
  return top_scores(scores, count).ids();
}

TEST(TopScores, TakesTheHighestAndAmongEqualsTheLowerIds) {
  const Scores scores = {5.2F, 1.1F, 2.6F, 0.3F, 2.6F};
  EXPECT_THAT(top(scores, 0), ElementsAre());
  EXPECT_THAT(top(scores, 1), ElementsAre(0));
  EXPECT_THAT(top(scores, 2), ElementsAre(0, 2));
  EXPECT_THAT(top(scores, 3), ElementsAre(0, 2, 4));
  EXPECT_THAT(top(scores, 4), ElementsAre(0, 1, 2, 4));
  EXPECT_THAT(top(scores, 5), ElementsAre(0, 1, 2, 3, 4));
}

TEST(TopScores, OrdersNegativeScoresAndInfinities) {
  const Scores scores = {-1.0F, -Infinite, -2.0F, Infinite, 0.0F};
  EXPECT_THAT(top(scores, 1), ElementsAre(3));
  EXPECT_THAT(top(scores, 2), ElementsAre(3, 4));
  EXPECT_THAT(top(scores, 3), ElementsAre(0, 3, 4));
  EXPECT_THAT(top(scores, 4), ElementsAre(0, 2, 3, 4));
}

TEST(TopScores, HoldsBothZerosForEqual) {
  EXPECT_THAT(top({-0.0F, 0.0F}, 1), ElementsAre(0));
  EXPECT_THAT(top({0.0F, -0.0F}, 1), ElementsAre(0));
}

TEST(TopScores, TellsNeighbouringNumbersApart) {
  // Equal in the upper half of their bits.
  const float next = std::nextafter(1.0F, 2.0F);
  const float smallest = std::numeric_limits<float>::denorm_min();
  EXPECT_THAT(top({1.0F, next, 1.0F}, 1), ElementsAre(1));
  EXPECT_THAT(top({0.0F, smallest, -smallest}, 1), ElementsAre(1));
  EXPECT_THAT(top({-smallest, 0.0F, -smallest}, 1), ElementsAre(1));
}

TEST(TopScores, AgreesWithAStableSort) {
  for (std::uint32_t seed = 0; seed < times_tried(1000); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Scores scores(1 + random() % 200);
    // Few values, so ties are common; or any bits that are a number.
    for (float& score : scores) {
      score = seed % 2 == 0 ? static_cast<float>(random() % 7) - 3.0F
                            : std::bit_cast<float>(static_cast<std::uint32_t>(random()));
      if (std::isnan(score)) score = -Infinite;
    }
    const auto count = static_cast<std::int64_t>(random() % (scores.size() + 1));

    std::vector<SampleId> expected(scores.size());
    std::iota(expected.begin(), expected.end(), 0);
    std::stable_sort(expected.begin(), expected.end(), [&](SampleId a, SampleId b) {
      return scores[static_cast<std::size_t>(a)] > scores[static_cast<std::size_t>(b)];
    });
    expected.resize(static_cast<std::size_t>(count));
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(top(scores, count), expected);
  }
}

TEST(TopScores, NamesTheSampleWhoseScoreIsNoNumber) {
  for (const std::int64_t count : {0, 1, 3}) {
    try {
      (void)top({1.0F, 2.0F, std::nanf("")}, count);
      FAIL() << "accepted a NaN";
    } catch (const InvalidArgument& error) {
      EXPECT_THAT(error.what(), HasSubstr("the score of sample 2 is nan"));
    }
  }
}

TEST(TopScores, RefusesACountOutOfRange) {
  EXPECT_THROW((void)top({1.0F}, 2), InvalidArgument);
  EXPECT_THROW((void)top({1.0F}, -1), InvalidArgument);
  EXPECT_THROW((void)top({}, 1), InvalidArgument);
  EXPECT_THAT(top({}, 0), ElementsAre());
}

}  // namespace
}  // namespace rcap
