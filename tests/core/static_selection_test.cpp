#include "rcap/core/static_selection.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/expect_throw.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/weighted_draw.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Counts = std::vector<std::int64_t>;
using Scores = std::vector<float>;
using Recalls = std::vector<double>;

constexpr float Infinity = std::numeric_limits<float>::infinity();

/// How many samples each label has; labels run to `highest`.
Counts sizes_of(const std::vector<std::int32_t>& labels, std::size_t highest) {
  Counts sizes(highest + 1);
  for (const std::int32_t label : labels) ++sizes.at(static_cast<std::size_t>(label));
  return sizes;
}

/// How many members of `set` each label has.
Counts members_of(const std::vector<std::int32_t>& labels, const SampleSet& set,
                  std::size_t highest) {
  Counts counts(highest + 1);
  for (const SampleId id : set.ids()) {
    ++counts.at(static_cast<std::size_t>(labels[static_cast<std::size_t>(id)]));
  }
  return counts;
}

// ---- CCS

TEST(SpreadOverStrata, ServesSmallStrataFirst) {
  // Sizes 0, 1, 5, 14 in turn: 8/4 -> 0, 8/3 -> 1, 7/2 -> 3, 4/1 -> 4.
  EXPECT_THAT(spread_over_strata(Counts{1, 0, 5, 14}, 8), ElementsAre(1, 0, 3, 4));
  EXPECT_THAT(spread_over_strata(Counts{2, 2, 9}, 7), ElementsAre(2, 2, 3));
}

TEST(SpreadOverStrata, TakesEverythingWhereTheStrataHoldTooFew) {
  EXPECT_THAT(spread_over_strata(Counts{3, 3, 3}, 10), ElementsAre(3, 3, 3));
}

TEST(SpreadOverStrata, GivesTheLowerOfEqualStrataTheSmallerPart) {
  // 7/3 = 2, then 5/2 = 2, then 3.
  EXPECT_THAT(spread_over_strata(Counts{9, 9, 9}, 7), ElementsAre(2, 2, 3));
}

TEST(SpreadOverStrata, RefusesNegativeNumbers) {
  EXPECT_THAT(message_of<InvalidArgument>([] {
                return spread_over_strata(Counts{1, -2}, 1);
              }),
              HasSubstr("stratum_sizes[1] is -2"));
  EXPECT_THAT(message_of<InvalidArgument>([] { return spread_over_strata(Counts{1}, -1); }),
              HasSubstr("keep_count is -1"));
}

const Scores TwentyScores = {-.9F, -.5F, 0,    .05F, .1F, .12F, .3F,  .35F, .6F,  .7F,
                             .72F, .75F, .78F, .8F,  .8F, .79F, .77F, .74F, .71F, .8F};

TEST(StrataOf, CutsTheLowestAndBinsTheRest) {
  // 18 remain, from 0 to 0.80008, four bins of 0.20002: .6 lies in the third, which
  // ends at .60006.
  const auto strata = strata_of(TwentyScores, {.hard_cutoff = 0.1, .strata = 4});
  EXPECT_THAT(strata, ElementsAre(4, 4, 0, 0, 0, 0, 1, 1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3));
  EXPECT_THAT(sizes_of(strata, 4), ElementsAre(4, 2, 1, 11, 2));
}

TEST(StrataOf, KeepsTheEasiestSampleWhereAllScoresAreNegative) {
  // From -4 to -1 + 0.0001 * 3: three bins of 1.0001.
  EXPECT_THAT(strata_of(Scores{-4, -3, -2, -1}, {.strata = 3}), ElementsAre(0, 0, 1, 2));
  EXPECT_THAT(strata_of(Scores{-4, -3, -2, 0}, {.strata = 2}), ElementsAre(0, 0, 0, 1));
}

TEST(StrataOf, EndsAHundredthPercentAboveTheHighestScore) {
  // Two bins of 0.50005.
  EXPECT_THAT(strata_of(Scores{0, .50002F, .5001F, 1}, {.strata = 2}), ElementsAre(0, 0, 1, 1));
}

TEST(StrataOf, MakesOneStratumOfEqualScores) {
  for (const float score : {-2.0F, 0.0F, 3.0F}) {
    EXPECT_THAT(strata_of(Scores(3, score), {.strata = 50}), ElementsAre(0, 0, 0)) << score;
  }
}

TEST(StrataOf, PutsTheHighestScoreInTheLastStratumWhereRoundingWouldNot) {
  // The factor 1.0001 of 1e-30 is lost beside a lowest score of -1.
  EXPECT_THAT(strata_of(Scores{-1, 1e-30F}, {.strata = 4}), ElementsAre(0, 3));
}

TEST(StrataOf, SpansTheWholeRangeOfNumbers) {
  const float most = std::numeric_limits<float>::max();
  EXPECT_THAT(strata_of(Scores{-most, 0, most}, {.strata = 50}), ElementsAre(0, 24, 49));
}

TEST(StrataOf, DropsTheLowerIdsAmongEqualScores) {
  EXPECT_THAT(strata_of(Scores{1, 0, 0, 0}, {.hard_cutoff = 0.5, .strata = 2}),
              ElementsAre(1, 2, 2, 0));
}

TEST(StrataOf, CountsAProductThatRoundingMakesShortAsWhole) {
  // 0.29 * 100 is 28.999999999999996 in floating point.
  Scores scores(100);
  std::iota(scores.begin(), scores.end(), 0.0F);
  EXPECT_EQ(sizes_of(strata_of(scores, {.hard_cutoff = 0.29, .strata = 1}), 1)[1], 29);
}

TEST(StrataOf, LeavesOneSampleAtLeast) {
  EXPECT_THAT(strata_of(Scores{1, 2}, {.hard_cutoff = 1 - 1e-9, .strata = 1}), ElementsAre(1, 0));
}

TEST(StrataOf, NamesWhatIsOutOfRange) {
  EXPECT_THAT(message_of<InvalidArgument>([] {
                return strata_of(Scores{1, Infinity}, {});
              }),
              HasSubstr("the score of sample 1 is inf"));
  EXPECT_THAT(message_of<InvalidArgument>([] { return strata_of(Scores{std::nanf("")}, {}); }),
              HasSubstr("the score of sample 0 is nan"));
  EXPECT_THAT(message_of<InvalidArgument>([] { return strata_of(Scores{}, {}); }),
              HasSubstr("no scores"));
  EXPECT_THAT(message_of<InvalidArgument>([] { return strata_of(Scores{1}, {.strata = 0}); }),
              HasSubstr("strata is 0"));
  EXPECT_THAT(message_of<InvalidArgument>([] { return strata_of(Scores{1}, {.strata = 1 << 24}); }),
              HasSubstr("strata is 16777216"));
  for (const double cutoff : {-0.1, 1.0, std::nan("")}) {
    EXPECT_THAT(
        message_of<InvalidArgument>([&] { return strata_of(Scores{1}, {.hard_cutoff = cutoff}); }),
        HasSubstr("hard_cutoff is "));
  }
}

TEST(ReducedCutoff, IsTheCutoffWhereEnoughRemains) {
  EXPECT_EQ(reduced_cutoff(10, 7, 0.3), 0.3);
  EXPECT_EQ(reduced_cutoff(10, 7, 0.35), 0.35);  // cuts 3.5 rounded down
  EXPECT_EQ(reduced_cutoff(50000, 5000, 0.3), 0.3);
}

TEST(ReducedCutoff, LeavesWhatIsToBeKept) {
  EXPECT_DOUBLE_EQ(reduced_cutoff(10, 8, 0.3), 0.2);
  EXPECT_EQ(reduced_cutoff(10, 10, 0.3), 0.0);
}

TEST(ReducedCutoff, CutsExactlyTheSurplus) {
  for (const std::int64_t sample_count : {3, 7, 49, 1000, 4795}) {
    const Scores scores(static_cast<std::size_t>(sample_count));
    for (std::int64_t kept = 1; kept <= sample_count; kept += 1 + kept / 3) {
      const double cutoff = reduced_cutoff(sample_count, kept, 0.999999);
      const auto strata = strata_of(scores, {.hard_cutoff = cutoff, .strata = 1});
      EXPECT_EQ(sizes_of(strata, 1)[0], kept) << sample_count;
    }
  }
}

TEST(ReducedCutoff, NamesWhatIsOutOfRange) {
  EXPECT_THAT(message_of<InvalidArgument>([] { return reduced_cutoff(0, 0, 0.1); }),
              HasSubstr("sample_count is 0"));
  EXPECT_THAT(message_of<InvalidArgument>([] { return reduced_cutoff(5, 6, 0.1); }),
              HasSubstr("keep_count is 6"));
  EXPECT_THAT(message_of<InvalidArgument>([] { return reduced_cutoff(5, 1, 1.0); }),
              HasSubstr("hard_cutoff is 1"));
}

TEST(ChooseCcs, FillsTheBudgetsOfTheStrata) {
  const CcsOptions options{.hard_cutoff = 0.1, .strata = 4};
  const auto strata = strata_of(TwentyScores, options);
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const SampleSet chosen = choose_ccs(TwentyScores, 8, options, seed);
    EXPECT_THAT(members_of(strata, chosen, 4), ElementsAre(2, 2, 1, 3, 0)) << seed;
  }
}

TEST(ChooseCcs, ReducesTheCutoffWhereTooFewWouldBeLeft) {
  // 0.3 would leave 7 of 10; two fall away instead of three.
  const Scores scores = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
  EXPECT_THAT(choose_ccs(scores, 8, {.hard_cutoff = 0.3}, 1).ids(),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(choose_ccs(scores, 10, {.hard_cutoff = 0.3}, 1).count(), 10);
}

TEST(ChooseCcs, KeepsExactlyWhatIsAskedForAndNothingThatWasCut) {
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Scores scores(1 + random() % 300);
    for (float& score : scores) score = static_cast<float>(random() % 100) / 16.0F - 4.0F;
    const auto sample_count = static_cast<std::int64_t>(scores.size());
    const auto kept = static_cast<std::int64_t>(random() % (scores.size() + 1));
    CcsOptions options{.hard_cutoff = static_cast<double>(random() % 100) / 100.0,
                       .strata = 1 + static_cast<std::int64_t>(random() % 60)};
    const SampleSet chosen = choose_ccs(scores, kept, options, seed);

    ASSERT_EQ(chosen.count(), kept);
    options.hard_cutoff = reduced_cutoff(sample_count, kept, options.hard_cutoff);
    const auto strata = strata_of(scores, options);
    const auto last = static_cast<std::size_t>(options.strata);
    Counts sizes = sizes_of(strata, last);
    sizes.pop_back();
    Counts budgets = spread_over_strata(sizes, kept);
    budgets.push_back(0);
    ASSERT_EQ(members_of(strata, chosen, last), budgets);
  }
}

TEST(ChooseCcs, TakesTheMembersOfAStratumWithEqualChance) {
  // 3 of 10 with equal scores. The deviation of a frequency over 20,000 seeds is
  // sqrt(.3 * .7 / 20000) = .00324; one of ten lies 5 deviations off in 1 of 170,000 runs.
  const Scores scores(10, 1.0F);
  Counts taken(10);
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    for (const SampleId id : choose_ccs(scores, 3, {.strata = 2}, seed).ids()) {
      ++taken[static_cast<std::size_t>(id)];
    }
  }
  for (const std::int64_t count : taken) {
    EXPECT_NEAR(static_cast<double>(count) / 20000, 0.3, 5 * 0.00324);
  }
}

TEST(ChooseCcs, DependsOnTheSeedAlone) {
  const Scores scores(1000, 1.0F);
  EXPECT_EQ(choose_ccs(scores, 100, {}, 1), choose_ccs(scores, 100, {}, 1));
  EXPECT_NE(choose_ccs(scores, 100, {}, 1), choose_ccs(scores, 100, {}, 2));
}

TEST(ChooseCcs, NamesWhatIsOutOfRange) {
  EXPECT_THAT(message_of<InvalidArgument>([] {
                return choose_ccs(Scores{1, 2}, 3, {}, 0);
              }),
              HasSubstr("choose_ccs: keep_count is 3"));
  EXPECT_THAT(message_of<InvalidArgument>([] {
                return choose_ccs(Scores{1, -Infinity}, 1, {}, 0);
              }),
              HasSubstr("choose_ccs: the score of sample 1 is -inf"));
}

// ---- MetriQ

Counts metriq(const Counts& class_sizes, const Recalls& recalls, std::int64_t keep_count,
              MetriqQuota quota = MetriqQuota::Density) {
  return metriq_counts(class_sizes, recalls, keep_count, {.quota = quota});
}

TEST(MetriqCounts, FollowTheErrors) {
  // Errors 1 : 2 : 3 of 96.
  EXPECT_THAT(metriq({64, 64, 64}, {.875, .75, .625}, 96), ElementsAre(16, 32, 48));
}

TEST(MetriqCounts, ShareAgainWhatFullClassesLeave) {
  // Errors 1 : 2 : 4 : 7 eighths. Of 200 the last would get 100 exactly; of 280 it would
  // get 140, and the third then 102.9.
  EXPECT_THAT(metriq({100, 100, 100, 100}, {.875, .75, .5, .125}, 200),
              ElementsAre(14, 29, 57, 100));
  EXPECT_THAT(metriq({100, 100, 100, 100}, {.875, .75, .5, .125}, 280),
              ElementsAre(27, 53, 100, 100));
}

TEST(MetriqCounts, DifferBetweenDensityAndSizeWhereClassesDo) {
  // Density: 56.25 : 25 of 200. Size: 1 : 4, and the second class holds only 100.
  EXPECT_THAT(metriq({900, 100}, {.9375, .75}, 200), ElementsAre(138, 62));
  EXPECT_THAT(metriq({900, 100}, {.9375, .75}, 200, MetriqQuota::Size), ElementsAre(100, 100));
}

TEST(MetriqCounts, FollowTheSizesWithoutAnyError) {
  for (const MetriqQuota quota : {MetriqQuota::Density, MetriqQuota::Size}) {
    EXPECT_THAT(metriq({60, 30, 10}, {1, 1, 1}, 20, quota), ElementsAre(12, 6, 2));
  }
}

TEST(MetriqCounts, KeepOneSampleOfAClassWithoutError) {
  EXPECT_THAT(metriq({50, 50}, {1, .5}, 20), ElementsAre(1, 19));
}

TEST(MetriqCounts, TakeAnUnknownRecallForZero) {
  EXPECT_EQ(metriq({64, 64}, {.5, std::nan("")}, 60), metriq({64, 64}, {.5, 0}, 60));
  EXPECT_THAT(metriq({64, 64}, {.5, std::nan("")}, 60), ElementsAre(20, 40));
}

TEST(MetriqCounts, NameTheClassWhoseRecallIsBroken) {
  EXPECT_THAT(message_of<InvalidArgument>([] {
                return metriq({5, 5}, {.5, 1.25}, 4);
              }),
              HasSubstr("recalls[1] is 1.25"));
  EXPECT_THAT(message_of<InvalidArgument>([] {
                return metriq({5, 5}, {-.5, 1}, 4);
              }),
              HasSubstr("recalls[0] is -0.5"));
  EXPECT_THAT(message_of<InvalidArgument>([] {
                return metriq({5, 5}, {.5}, 4);
              }),
              HasSubstr("1 recalls for 2 classes"));
  EXPECT_THAT(message_of<InvalidArgument>([] {
                return metriq({5, 5}, {.5, .5}, 11);
              }),
              HasSubstr("keep_count is 11"));
}

TEST(ChooseMetriq, KeepsTheCountsOfTheClasses) {
  std::vector<std::int32_t> labels(1000);
  for (std::size_t i = 900; i < 1000; ++i) labels[i] = 1;
  const ClassIndex classes{std::span<const std::int32_t>(labels)};
  const Recalls recalls = {.9375, .75};
  const SampleSet chosen = choose_metriq(classes, recalls, 200, {}, 7);
  EXPECT_THAT(members_of(labels, chosen, 1), ElementsAre(138, 62));
  EXPECT_EQ(chosen, choose_metriq(classes, recalls, 200, {}, 7));
  EXPECT_NE(chosen, choose_metriq(classes, recalls, 200, {}, 8));
}

// ---- TDDS and random

TEST(ChooseTdds, TakesTheHighestScores) {
  EXPECT_THAT(choose_tdds(Scores{.1624696F, .2430594F, 0, .1624696F}, 2).ids(), ElementsAre(0, 1));
}

TEST(ChooseTdds, NamesWhatIsOutOfRange) {
  EXPECT_THAT(message_of<InvalidArgument>([] {
                return choose_tdds(Scores{1, std::nanf("")}, 1);
              }),
              HasSubstr("choose_tdds: the score of sample 1 is nan"));
  EXPECT_THAT(message_of<InvalidArgument>([] {
                return choose_tdds(Scores{1, 2}, 3);
              }),
              HasSubstr("choose_tdds: keep_count is 3"));
}

TEST(ChooseRandom, IsTheUniformDrawOfEpochZero) {
  const RandomStream stream(5, Purpose::Selection, 0);
  EXPECT_EQ(choose_random(1000, 300, 5), draw_uniform(1000, 300, stream));
  EXPECT_EQ(choose_random(1000, 300, 5).count(), 300);
  EXPECT_NE(choose_random(1000, 300, 5), choose_random(1000, 300, 6));
}

TEST(ChooseRandom, RefusesACountOutOfRange) {
  EXPECT_THAT(message_of<InvalidArgument>([] { return choose_random(10, 11, 0); }),
              HasSubstr("choose_random: keep_count is 11"));
  EXPECT_THAT(message_of<InvalidArgument>([] { return choose_random(10, -1, 0); }),
              HasSubstr("keep_count is -1"));
}

}  // namespace
}  // namespace rcap
