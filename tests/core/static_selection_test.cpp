#include "rcap/core/static_selection.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/expect_throw.hpp"
#include "core/times_tried.hpp"
#include "rcap/core/class_budget.hpp"
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
  for (std::uint32_t seed = 0; seed < times_tried(1000); ++seed) {
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
  constexpr int Seeds = times_tried(20'000);
  const Scores scores(10, 1.0F);
  Counts taken(10);
  for (std::uint64_t seed = 0; seed < Seeds; ++seed) {
    for (const SampleId id : choose_ccs(scores, 3, {.strata = 2}, seed).ids()) {
      ++taken[static_cast<std::size_t>(id)];
    }
  }
  for (const std::int64_t count : taken) {
    EXPECT_NEAR(static_cast<double>(count) / Seeds, 0.3, 5 * std::sqrt(.3 * .7 / Seeds));
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

// ---- EL2N, Forgetting, Dyn-Unc

ClassIndex index_of(const std::vector<int>& labels) {
  return ClassIndex(std::span<const int>(labels));
}

const ClassIndex& of_one_class(std::size_t sample_count) {
  static std::map<std::size_t, ClassIndex> made;
  return made.try_emplace(sample_count, std::vector<int>(sample_count)).first->second;
}

TEST(ChooseByScore, TakesTheHighestScoresByDefault) {
  EXPECT_THAT(choose_by_score(of_one_class(5), Scores{.5F, 2, .5F, 1, 0}, 3, {}, 0).ids(),
              ElementsAre(0, 1, 3));
}

TEST(ChooseByScore, TakesTheHighestOfEveryClassInProportionToSize) {
  // Sizes 6 and 2 of 4 kept: 3 and 1. The third of class 0 is the lower id of two equal scores.
  const ClassIndex classes = index_of({0, 0, 1, 0, 0, 1, 0, 0});
  const Scores scores = {5, 1, 9, 1, 7, 8, 0, -1};
  EXPECT_THAT(choose_by_score(classes, scores, 4, {.choose = ScoreChoice::PerClass}, 0).ids(),
              ElementsAre(0, 1, 2, 4));
}

TEST(ChooseByScore, KeepsOneOfEveryClassWhereItChoosesPerClass) {
  const ClassIndex classes = index_of({0, 0, 0, 0, 0, 0, 0, 0, 0, 1});
  const Scores scores = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
  EXPECT_THAT(choose_by_score(classes, scores, 3, {.choose = ScoreChoice::PerClass}, 0).ids(),
              ElementsAre(0, 1, 9));
}

TEST(ChooseByScore, AgreesWithSortingEveryClass) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::vector<int> labels(1 + random() % 200);
    Scores scores(labels.size());
    for (int& label : labels) label = static_cast<int>(random() % 5);
    for (float& score : scores) score = static_cast<float>(random() % 20) - 9;
    const ClassIndex classes(labels, 6);
    const auto kept = static_cast<std::int64_t>(random() % (labels.size() + 1));
    const SampleSet chosen =
        choose_by_score(classes, scores, kept, {.choose = ScoreChoice::PerClass}, seed);
    ASSERT_EQ(chosen.count(), kept);
    // Whoever is left out has no higher score than any of its class that is kept.
    for (std::size_t a = 0; a < labels.size(); ++a) {
      for (std::size_t b = 0; b < labels.size(); ++b) {
        const bool only_b =
            !chosen.contains(static_cast<SampleId>(a)) && chosen.contains(static_cast<SampleId>(b));
        if (labels[a] != labels[b] || !only_b) continue;
        ASSERT_TRUE(scores[b] > scores[a] || (scores[b] == scores[a] && b < a)) << a << " " << b;
      }
    }
    const std::vector<double> sizes(classes.class_sizes().begin(), classes.class_sizes().end());
    ASSERT_EQ(classes.count_by_class(chosen.ids()),
              split_budget(classes.class_sizes(), sizes, kept));
  }
}

TEST(ChooseByScore, DropsTheHighestFirstByStrata) {
  // Three of ten fall away, those of highest score; the others fill the budget.
  const Scores scores = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
  EXPECT_THAT(choose_by_score(of_one_class(10), scores, 7, {ScoreChoice::Strata, 0.3, 50}, 1).ids(),
              ElementsAre(3, 4, 5, 6, 7, 8, 9));
}

TEST(ChooseByScore, CoversTheScoresAsCcsDoesTheirOpposites) {
  Scores easy = TwentyScores;
  for (float& score : easy) score = -score;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_EQ(
        choose_by_score(of_one_class(20), TwentyScores, 8, {ScoreChoice::Strata, 0.1, 4}, seed),
        choose_ccs(easy, 8, {.hard_cutoff = 0.1, .strata = 4}, seed));
  }
}

TEST(ChooseByScore, NamesWhatIsOutOfRange) {
  const auto refusal = [](const Scores& scores, std::int64_t kept, const ScoreOptions& options) {
    return message_of<InvalidArgument>(
        [&] { return choose_by_score(of_one_class(2), scores, kept, options, 0); });
  };
  EXPECT_THAT(refusal({1, Infinity}, 1, {}),
              HasSubstr("choose_by_score: the score of sample 1 is inf"));
  EXPECT_THAT(refusal({1}, 1, {}), HasSubstr("choose_by_score: 1 scores for 2 samples"));
  EXPECT_THAT(refusal({1, 2}, 3, {}), HasSubstr("choose_by_score: keep_count is 3"));
  EXPECT_THAT(refusal({1, 2}, 1, {ScoreChoice::Strata, 1.0, 50}), HasSubstr("hard_cutoff is 1"));
  EXPECT_THAT(refusal({1, 2}, 1, {ScoreChoice::Strata, 0, 0}), HasSubstr("strata is 0"));
}

// ---- DUAL

/// The scores and mean probabilities that tools/golden_values.py draws by.
const Scores DualScores = {.1083791F, .1538806F, .0887723F, .1471397F, .2095907F, .1017169F,
                           .2097534F, .0618717F, .110379F,  .2221523F, .0749313F, .1083791F};
const Scores DualMeans = {.5811103F, .433999F,  .2744971F, .5057724F, .3168777F, .3524612F,
                          .4090365F, .1664909F, .4525692F, .5252132F, .2137785F, .5811103F};

SampleSet draw_dual(const Scores& scores, const Scores& means, std::int64_t kept,
                    std::uint64_t seed) {
  return choose_dual(of_one_class(scores.size()), scores, means, kept, {}, seed);
}

TEST(DualDensity, MovesToTheEasyEndAsMoreIsPruned) {
  // mu is the mean of the two: 1/2. Half is pruned: b = 15 * 1/2 * (1 - 1/16) = 7.03125.
  const BetaShape half = dual_density(Scores{1, 2}, Scores{.25F, .75F}, 1, 4);
  EXPECT_DOUBLE_EQ(half.b, 7.03125);
  EXPECT_DOUBLE_EQ(half.a, 8.96875);
  const BetaShape nothing = dual_density(Scores{1, 2}, Scores{.25F, .75F}, 2, 4);
  EXPECT_EQ(nothing.b, 7.5);
  EXPECT_EQ(nothing.a, 8.5);
  const BetaShape all = dual_density(Scores{1, 2}, Scores{.25F, .75F}, 0, 4);
  EXPECT_EQ(all.b, 0);
  EXPECT_EQ(all.a, 16);
}

TEST(DualDensity, ReadsTheMeansOfTheTenHighestScores) {
  // Ten of 1/2, and two of score 0 that do not count.
  Scores scores(12, 3);
  Scores means(12, .5F);
  scores[4] = scores[11] = 0;
  means[4] = means[11] = 1;
  EXPECT_DOUBLE_EQ(dual_density(scores, means, 12, 4).b, 7.5);
}

TEST(DualDensity, AgreesWithTheFormulas) {
  // From tools/golden_values.py.
  EXPECT_NEAR(dual_density(DualScores, DualMeans, 2, 4).b, 4.323719988, 1e-6);
  EXPECT_NEAR(dual_density(DualScores, DualMeans, 4, 4).b, 6.701443797, 1e-6);
  EXPECT_NEAR(dual_density(DualScores, DualMeans, 8, 4).a, 7.752069173, 1e-6);
}

TEST(ChooseDual, DrawsWhatTheFormulasDraw) {
  // From tools/golden_values.py.
  EXPECT_THAT(draw_dual(DualScores, DualMeans, 2, 27).ids(), ElementsAre(8, 9));
  EXPECT_THAT(draw_dual(DualScores, DualMeans, 4, 27).ids(), ElementsAre(1, 8, 9, 11));
  EXPECT_THAT(draw_dual(DualScores, DualMeans, 8, 27).ids(), ElementsAre(0, 1, 3, 4, 6, 8, 9, 11));
}

TEST(ChooseDual, DrawsOneInProportionToScoreTimesDensity) {
  // One of the twelve; chance i is w_i / sum w. A frequency over 20,000 seeds has the deviation
  // sqrt(q (1 - q) / 20000); one of twelve lies 5 deviations off in 1 of 145,000 runs.
  const BetaShape shape = dual_density(DualScores, DualMeans, 1, 4);
  std::vector<double> weights(12);
  double sum = 0;
  for (std::size_t i = 0; i < 12; ++i) {
    weights[i] = DualScores[i] * std::pow(DualMeans[i], shape.a - 1) *
                 std::pow(1 - DualMeans[i], shape.b - 1);
    sum += weights[i];
  }
  Counts drawn(12);
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    ++drawn[static_cast<std::size_t>(draw_dual(DualScores, DualMeans, 1, seed).ids().at(0))];
  }
  for (std::size_t i = 0; i < 12; ++i) {
    const double chance = weights[i] / sum;
    EXPECT_NEAR(static_cast<double>(drawn[i]) / 20000, chance,
                5 * std::sqrt(chance * (1 - chance) / 20000))
        << i;
  }
}

TEST(ChooseDual, DrawsTwoOneAfterTheOther) {
  // Without replacement: {i, j} has the chance q_i q_j / (1 - q_i) + q_j q_i / (1 - q_j). The ten
  // highest scores are all, and equal, so the means alone decide. 5 deviations of 20,000 seeds.
  const Scores scores(4, 1);
  const Scores means = {.2F, .4F, .5F, .7F};
  const BetaShape shape = dual_density(scores, means, 2, 4);
  std::vector<double> q(4);
  double sum = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    sum += q[i] = std::pow(means[i], shape.a - 1) * std::pow(1 - means[i], shape.b - 1);
  }
  std::map<std::vector<SampleId>, int> drawn;
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    ++drawn[draw_dual(scores, means, 2, seed).ids()];
  }
  for (SampleId i = 0; i < 4; ++i) {
    for (SampleId j = i + 1; j < 4; ++j) {
      const double a = q[static_cast<std::size_t>(i)] / sum;
      const double b = q[static_cast<std::size_t>(j)] / sum;
      const double chance = a * b / (1 - a) + a * b / (1 - b);
      const int count = drawn[std::vector{i, j}];
      EXPECT_NEAR(count / 20000.0, chance, 5 * std::sqrt(chance * (1 - chance) / 20000))
          << i << " " << j;
    }
  }
}

TEST(ChooseDual, DrawsSamplesOfScoreZeroAfterAllOthersWithEqualChance) {
  // Two of three samples of score 0; the deviation of 2/3 over 10,000 seeds is .0047.
  const Scores scores = {0, 1, 0, 0};
  const Scores means = {.1F, .5F, .5F, .9F};
  Counts drawn(4);
  for (std::uint64_t seed = 0; seed < 10000; ++seed) {
    for (const SampleId id : draw_dual(scores, means, 3, seed).ids()) {
      ++drawn[static_cast<std::size_t>(id)];
    }
  }
  EXPECT_EQ(drawn[1], 10000);
  for (const std::size_t i : {0U, 2U, 3U}) {
    EXPECT_NEAR(static_cast<double>(drawn[i]) / 10000, 2.0 / 3, 5 * .0047) << i;
  }
}

TEST(ChooseDual, BearsMeansOfZeroAndOne) {
  for (const Scores& means : {Scores{0, 0, 0, 0}, Scores{1, 1, 1, 1}, Scores{0, 1, .5F, 1}}) {
    for (std::int64_t kept = 0; kept <= 4; ++kept) {
      EXPECT_EQ(draw_dual({1, 1e-40F, 3e38F, 0}, means, kept, 1).count(), kept);
    }
  }
  // mu = 1 makes b 0, where the density is infinite at 1: such a sample comes first.
  Scores means(11, 1);
  Scores scores(11, 1);
  means[3] = 0;
  scores[3] = .5F;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    EXPECT_FALSE(draw_dual(scores, means, 10, seed).contains(3)) << seed;
  }
}

TEST(ChooseDual, KeepsExactlyWhatIsAskedFor) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Scores scores(1 + random() % 300);
    Scores means(scores.size());
    for (float& score : scores) score = static_cast<float>(random() % 8) / 16.0F;
    for (float& mean : means) mean = static_cast<float>(random() % 9) / 8.0F;
    const auto kept = static_cast<std::int64_t>(random() % (scores.size() + 1));
    for (const auto choose :
         {DualChoice::Top, DualChoice::Strata, DualChoice::PerClass, DualChoice::Beta}) {
      const SampleSet chosen =
          choose_dual(of_one_class(scores.size()), scores, means, kept, {.choose = choose}, seed);
      ASSERT_EQ(chosen.count(), kept);
    }
  }
}

TEST(ChooseDual, ChoosesAsOtherScoresDoWhereItDoesNotDraw) {
  const ClassIndex classes = index_of({0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0});
  const auto dual = [&](DualChoice choose) {
    return choose_dual(classes, DualScores, {}, 5, {choose, .25, 3}, 9);
  };
  const auto other = [&](ScoreChoice choose) {
    return choose_by_score(classes, DualScores, 5, {choose, .25, 3}, 9);
  };
  EXPECT_EQ(dual(DualChoice::Top), other(ScoreChoice::Top));
  EXPECT_EQ(dual(DualChoice::Strata), other(ScoreChoice::Strata));
  EXPECT_EQ(dual(DualChoice::PerClass), other(ScoreChoice::PerClass));
  EXPECT_NE(other(ScoreChoice::Top), other(ScoreChoice::PerClass));
}

TEST(ChooseDual, NamesWhatIsOutOfRange) {
  const auto refusal = [](const Scores& scores, const Scores& means, double rate_power = 4) {
    return message_of<InvalidArgument>([&] {
      return choose_dual(of_one_class(2), scores, means, 1, {.rate_power = rate_power}, 0);
    });
  };
  EXPECT_THAT(refusal({1, -.5F}, {0, 0}),
              HasSubstr("choose_dual: the score of sample 1 is -0.5; scores that samples are drawn "
                        "by must be >= 0"));
  EXPECT_THAT(refusal({1, 1}, {0, 1.5F}),
              HasSubstr("the mean probability of sample 1 is 1.5; it must lie between 0 and 1"));
  EXPECT_THAT(refusal({1, 1}, {std::nanf(""), 0}), HasSubstr("of sample 0 is nan"));
  EXPECT_THAT(refusal({1, 1}, {0}), HasSubstr("1 mean probabilities for 2 samples"));
  EXPECT_THAT(refusal({1}, {0}), HasSubstr("1 scores for 2 samples"));
  EXPECT_THAT(refusal({1, 1}, {0, 0}, 0), HasSubstr("rate_power is 0"));
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
