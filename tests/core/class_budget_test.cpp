#include "rcap/core/class_budget.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/random_stream.hpp"

namespace rcap {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;

using Counts = std::vector<std::int64_t>;
using Weights = std::vector<double>;

/// sqrt(p_j * E_j) of the paper.
Weights paper_weights(const Counts& sizes, const Weights& errors) {
  const auto total = static_cast<double>(std::accumulate(sizes.begin(), sizes.end(), 0L));
  Weights weights;
  for (std::size_t j = 0; j < sizes.size(); ++j) {
    weights.push_back(std::sqrt(static_cast<double>(sizes[j]) / total * errors[j]));
  }
  return weights;
}

auto near(double value) { return DoubleNear(value, 5e-5); }

TEST(KeepCount, RoundsDownButNotOnAccountOfRoundingErrors) {
  // (1 - 0.7) * 50000 is 15000.000000000002 in floating point, (1 - 0.9) * 50000 is
  // 4999.999999999999.
  EXPECT_EQ(keep_count(50'000, 10, 0.5), 25'000);
  EXPECT_EQ(keep_count(50'000, 10, 0.7), 15'000);
  EXPECT_EQ(keep_count(50'000, 10, 0.8), 10'000);
  EXPECT_EQ(keep_count(50'000, 10, 0.9), 5'000);
  EXPECT_EQ(keep_count(4795, 2, 0.5), 2397);
  EXPECT_EQ(keep_count(4795, 2, 0.7), 1438);
  EXPECT_EQ(keep_count(4795, 2, 0.8), 959);
  EXPECT_EQ(keep_count(4795, 2, 0.9), 479);
  EXPECT_EQ(keep_count(1'000'000'000, 1000, 0.9), 100'000'000);
}

TEST(KeepCount, KeepsOneSampleAClassAndNeverMoreThanThereAre) {
  EXPECT_EQ(keep_count(1000, 100, 0.99), 100);
  EXPECT_EQ(keep_count(10, 100, 0.99), 10);
  EXPECT_EQ(keep_count(1000, 10, 0.0), 1000);
}

TEST(KeepCount, RefusesARateThatIsNoFractionRemoved) {
  for (const double rate : {1.0, -0.1, 1.5, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW((void)keep_count(100, 10, rate), InvalidArgument) << rate;
  }
  EXPECT_THAT(message_of<InvalidArgument>([] { (void)keep_count(100, 10, 1.0); }),
              HasSubstr("pruning_rate is 1; it is the fraction removed"));
}

// The worked cases of the paper's formula: sizes, class errors, budget.

TEST(ShareBudget, FollowsThePrintedFormula) {
  const Counts sizes{60, 30, 10};
  EXPECT_THAT(share_budget(sizes, paper_weights(sizes, {60, 30, 10}), 20),
              ElementsAre(near(12), near(6), near(2)));
  EXPECT_THAT(share_budget(sizes, paper_weights(sizes, {60, 120, 40}), 28),
              ElementsAre(near(12), near(12), near(4)));
}

TEST(ShareBudget, TakesAFullClassWholeAndSharesTheRest) {
  // Weights 3 : 6 : 4 give 9, 18, 12; class 2 has 10, so 29 are left for 3 : 6.
  const Counts sizes{60, 30, 10};
  const Weights weights = paper_weights(sizes, {15, 120, 160});
  EXPECT_THAT(share_budget(sizes, weights, 39), ElementsAre(near(9.6667), near(19.3333), near(10)));
  EXPECT_THAT(split_budget(sizes, weights, 39), ElementsAre(10, 19, 10));
}

TEST(ShareBudget, SharesAgainWhenTheSurplusFillsAnotherClass) {
  // Weights 2 : 5 : 5. Class 2 is full at 20; of the 46 left class 1 would get 32.857,
  // more than its 30. A single pass would stop there.
  const Counts sizes{50, 30, 20};
  EXPECT_THAT(share_budget(sizes, paper_weights(sizes, {8, 250.0 / 3, 125}), 66),
              ElementsAre(near(16), near(30), near(20)));
}

TEST(ShareBudget, CountsAClassThatIsJustFilledAsFull) {
  EXPECT_THAT(share_budget(Counts{10, 10}, Weights{1, 1}, 20), ElementsAre(10, 10));
  EXPECT_THAT(share_budget(Counts{10, 90}, Weights{1, 4}, 50), ElementsAre(10, 40));
}

TEST(ShareBudget, SharesBySizeWhereNoClassWeighsAnything) {
  EXPECT_THAT(share_budget(Counts{60, 40}, Weights{0, 0}, 10), ElementsAre(near(6), near(4)));
  // What the full class 0 leaves goes to the weightless.
  EXPECT_THAT(share_budget(Counts{5, 60, 30}, Weights{1, 0, 0}, 14),
              ElementsAre(near(5), near(6), near(3)));
}

TEST(ShareBudget, GivesClassesOfEqualWeightEqualShares) {
  const auto shares = share_budget(Counts{1000, 1000, 1000}, Weights{0.1, 0.1, 0.1}, 100);
  EXPECT_EQ(shares[0], shares[1]);
  EXPECT_EQ(shares[1], shares[2]);
  EXPECT_THAT(split_budget(Counts{1000, 1000, 1000}, Weights{0.1, 0.1, 0.1}, 100),
              ElementsAre(34, 33, 33));
}

TEST(ShareBudget, StandsWeightsOfAnySize) {
  EXPECT_THAT(split_budget(Counts{100, 100}, Weights{1e150, 1e-150}, 50), ElementsAre(49, 1));
  const double tiny = std::numeric_limits<double>::denorm_min();
  EXPECT_THAT(split_budget(Counts{100, 100}, Weights{tiny, tiny}, 50), ElementsAre(25, 25));
}

TEST(ShareBudget, NamesTheClassWhoseWeightIsBroken) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(message_of<InvalidArgument>([nan] {
                (void)share_budget(Counts{10, 10}, Weights{0.5, nan}, 4);
              }),
              HasSubstr("class_weights[1] is nan"));
  EXPECT_THROW((void)share_budget(Counts{10, 10}, Weights{0.5, -1}, 4), InvalidArgument);
  EXPECT_THROW((void)share_budget(Counts{10, 10}, Weights{0.5}, 4), InvalidArgument);
  EXPECT_THROW((void)share_budget(Counts{10, 10}, Weights{1, 1}, 21), InvalidArgument);
}

TEST(RoundShares, GivesTheLargestRemaindersWhatTheFloorsLeave) {
  const Counts sizes{500, 500, 500};
  const Weights weights = paper_weights(sizes, {100, 200, 300});
  EXPECT_THAT(share_budget(sizes, weights, 100),
              ElementsAre(near(24.1181), near(34.1081), near(41.7738)));
  EXPECT_THAT(split_budget(sizes, weights, 100), ElementsAre(24, 34, 42));
}

TEST(RoundShares, KeepsOneSampleOfAClassWithoutLoss) {
  const Counts sizes{980, 10, 10};
  EXPECT_THAT(split_budget(sizes, paper_weights(sizes, {980, 0, 0}), 20), ElementsAre(18, 1, 1));
}

TEST(RoundShares, KeepsTheAskedMinimumWhileTheBudgetAllows) {
  const Counts sizes{980, 10, 3};
  const Weights weights{1, 0, 0};
  EXPECT_THAT(split_budget(sizes, weights, 20, 5), ElementsAre(12, 5, 3));
  // 3 * 8 > 20: the largest minimum that 20 can pay is 8 + 8 + 3.
  EXPECT_THAT(split_budget(sizes, weights, 20, 9), ElementsAre(9, 8, 3));
  EXPECT_THAT(split_budget(sizes, weights, 2, 1), ElementsAre(2, 0, 0));
  EXPECT_THAT(split_budget(sizes, weights, 20, 0), ElementsAre(20, 0, 0));
}

TEST(RoundShares, TakesBackFromTheClassFurthestAboveItsShare) {
  // Floors and minimum: 5, 4, 1, 1 = 11, one too many. Classes 2 and 3 are at their
  // minimum; class 0 lies 0.3 below its share, class 1 0.7: class 0 pays.
  EXPECT_THAT(round_shares(Counts{10, 10, 10, 10}, Weights{5.3, 4.7, 0, 0}, 10),
              ElementsAre(4, 4, 1, 1));
}

/// One count after the other is mended, always where it is furthest from its share.
Counts round_one_by_one(const Counts& sizes, const Weights& shares, std::int64_t keep) {
  Counts counts;
  for (std::size_t j = 0; j < sizes.size(); ++j) {
    const auto whole = static_cast<std::int64_t>(std::floor(shares[j] + 1e-9));
    counts.push_back(std::clamp(whole, std::min<std::int64_t>(sizes[j], 1), sizes[j]));
  }
  for (std::int64_t missing;
       (missing = keep - std::accumulate(counts.begin(), counts.end(), 0L));) {
    const int step = missing > 0 ? 1 : -1;
    std::size_t widest = sizes.size();
    const auto gap = [&](std::size_t j) {
      return (shares[j] - static_cast<double>(counts[j])) * step;
    };
    for (std::size_t j = 0; j < sizes.size(); ++j) {
      if (counts[j] == (step > 0 ? sizes[j] : std::min<std::int64_t>(sizes[j], 1))) continue;
      const bool wider = widest == sizes.size() || gap(j) > gap(widest) ||
                         (gap(j) == gap(widest) && step < 0 && counts[j] > counts[widest]);
      if (wider) widest = j;
    }
    counts[widest] += step;
  }
  return counts;
}

TEST(RoundShares, EqualsMendingOneCountAfterTheOther) {
  const RandomStream stream(3, Purpose::Selection, 0);
  for (std::int64_t trial = 0; trial < 2000; ++trial) {
    const std::size_t classes = 1 + stream.bits(trial) % 40;
    Counts sizes;
    Weights weights;
    for (std::size_t j = 0; j < classes; ++j) {
      const std::uint64_t bits = stream.bits(10'000 + 50 * trial + static_cast<std::int64_t>(j));
      sizes.push_back(static_cast<std::int64_t>(1 + bits % (trial % 2 == 0 ? 1000 : 5)));
      weights.push_back(static_cast<double>((bits >> 32) % 7));  // zeros and ties among them
    }
    const std::int64_t total = std::accumulate(sizes.begin(), sizes.end(), 0L);
    const auto least = static_cast<std::int64_t>(classes);
    const std::int64_t keep = least + (total - least) * (trial % 17) / 17;
    const Weights shares = share_budget(sizes, weights, keep);
    ASSERT_EQ(round_shares(sizes, shares, keep), round_one_by_one(sizes, shares, keep)) << trial;
  }
}

TEST(RoundShares, TakesTwiceFromAClassThatIsStillTheFurthestAboveItsShare) {
  // Full classes lie 40 below their shares, class 0 only 0.5, and 1.5 after one step.
  EXPECT_THAT(round_shares(Counts{10, 10, 10}, Weights{5.5, 50, 50}, 23), ElementsAre(3, 10, 10));
}

TEST(RoundShares, LeavesEmptyClassesEmpty) {
  EXPECT_THAT(split_budget(Counts{0, 5, 0}, Weights{3, 1, 0}, 2), ElementsAre(0, 2, 0));
}

TEST(GroupShare, WeighsEveryClassTheSame) {
  // w = sqrt(E) = 6, 4, 2: x = 10, 6.6667, 3.3333.
  EXPECT_THAT(split_budget(Counts{60, 30, 10}, Weights{6, 4, 2}, 20), ElementsAre(10, 7, 3));
}

TEST(MassShare, ApproachesEqualCountsWhateverTheSizes) {
  // Flat importance: the error of a class is the part of it that was selected.
  const Counts sizes{851, 149};
  EXPECT_THAT(share_budget(sizes, paper_weights(sizes, {1, 1}), 100),
              ElementsAre(near(70.5002), near(29.4998)));
  const Counts first = split_budget(sizes, paper_weights(sizes, {1, 1}), 100);
  EXPECT_THAT(first, ElementsAre(71, 29));
  const Weights next = paper_weights(sizes, {71.0 / 851, 29.0 / 149});
  EXPECT_THAT(share_budget(sizes, next, 100), ElementsAre(near(61.0090), near(38.9910)));
  EXPECT_THAT(split_budget(sizes, next, 100), ElementsAre(61, 39));
}

}  // namespace
}  // namespace rcap
