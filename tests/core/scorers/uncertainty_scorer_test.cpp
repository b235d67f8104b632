#include "rcap/core/scorers/uncertainty_scorer.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/expect_throw.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;
using Ids = std::vector<SampleId>;
using Losses = std::vector<float>;

constexpr UncertaintyOptions TwoOfThree{.window = 2, .dual_epochs = 3};

/// Follows one sample whose true class has these probabilities.
UncertaintyScorer follow(const std::vector<double>& course, const UncertaintyOptions& options) {
  UncertaintyScorer scorer(1, options);
  for (const double p : course) {
    scorer.add(Ids{0}, Losses{static_cast<float>(-std::log(p))});
    scorer.end_epoch();
  }
  return scorer;
}

TEST(UncertaintyScorer, GivesTheWorkedScores) {
  // Windows (.2, .4), (.4, .8), (.8, .8): deviations .2, .4, 0 over sqrt(2), means .3, .6, .8.
  const UncertaintyScorer scorer = follow({.2, .4, .8, .8}, TwoOfThree);
  EXPECT_THAT(scorer.uncertainties(), ElementsAre(FloatNear(.2F / std::sqrt(2.0F), 1e-7F)));
  // The first three epochs: (.2 * .7 + .4 * .4) / 2 over sqrt(2), and (.2 + .4 + .8) / 3.
  EXPECT_THAT(scorer.dual_scores(), ElementsAre(FloatNear(.15F / std::sqrt(2.0F), 1e-7F)));
  EXPECT_THAT(scorer.mean_probabilities(), ElementsAre(FloatNear(1.4F / 3, 1e-7F)));
}

/// What tools/golden_values.py follows: 12 samples over 6 epochs.
UncertaintyScorer follow_twelve() {
  UncertaintyScorer scorer(12, {.window = 3, .dual_epochs = 5});
  Ids ids(12);
  std::iota(ids.begin(), ids.end(), 0);
  for (int epoch = 0; epoch < 6; ++epoch) {
    Losses losses;
    for (int i = 0; i < 12; ++i) {
      losses.push_back(.25F * static_cast<float>((7 * i + 3 * epoch * epoch) % 11));
    }
    scorer.add(ids, losses);
    scorer.end_epoch();
  }
  return scorer;
}

TEST(UncertaintyScorer, AgreesWithTheFormulas) {
  // From tools/golden_values.py.
  const UncertaintyScorer scorer = follow_twelve();
  EXPECT_THAT(scorer.uncertainties(),
              Pointwise(testing::FloatNear(1e-7F),
                        {.2279528F, .3120636F, .1820406F, .3227708F, .3830873F, .2337447F,
                         .3097146F, .1104132F, .1775298F, .3976814F, .1417733F, .2279528F}));
  EXPECT_THAT(scorer.dual_scores(),
              Pointwise(testing::FloatNear(1e-7F),
                        {.1083791F, .1538806F, .0887723F, .1471397F, .2095907F, .1017169F,
                         .2097534F, .0618717F, .110379F, .2221523F, .0749313F, .1083791F}));
  EXPECT_THAT(scorer.mean_probabilities(),
              Pointwise(testing::FloatNear(1e-7F),
                        {.5811103F, .433999F, .2744971F, .5057724F, .3168777F, .3524612F, .4090365F,
                         .1664909F, .4525692F, .5252132F, .2137785F, .5811103F}));
}

TEST(UncertaintyScorer, ForgetsEpochsThatLeftTheWindow) {
  // Of three windows only the first has a deviation, .5 / sqrt(2).
  const float steady = follow({.5, .5, .5, .5}, TwoOfThree).uncertainties().at(0);
  EXPECT_EQ(steady, 0.0F);
  const float jump = follow({.25, .75, .75, .75}, TwoOfThree).uncertainties().at(0);
  EXPECT_NEAR(jump, .5 / std::sqrt(2.0) / 3, 1e-7);
}

TEST(UncertaintyScorer, LeavesLaterEpochsOutOfDual) {
  const UncertaintyScorer early = follow({.2, .4, .8}, TwoOfThree);
  const UncertaintyScorer late = follow({.2, .4, .8, .1, .9}, TwoOfThree);
  EXPECT_TRUE(early.dual_done());
  EXPECT_EQ(early.dual_scores(), late.dual_scores());
  EXPECT_EQ(early.mean_probabilities(), late.mean_probabilities());
  EXPECT_NE(early.uncertainties(), late.uncertainties());
}

TEST(UncertaintyScorer, BearsLossesFromZeroToTheLargest) {
  UncertaintyScorer scorer(3, {.window = 2, .dual_epochs = 2});
  const float most = std::numeric_limits<float>::max();
  scorer.add(Ids{0, 1, 2}, Losses{0, most, -1e-6F});
  scorer.end_epoch();
  scorer.add(Ids{0, 1, 2}, Losses{most, most, 0});
  scorer.end_epoch();
  // p = 1 and 0: deviation 1/sqrt(2), mean 1/2.
  EXPECT_THAT(scorer.uncertainties(), ElementsAre(FloatNear(.70710678F, 1e-7F), 0, 0));
  EXPECT_THAT(scorer.mean_probabilities(), ElementsAre(.5F, 0, 1));
}

TEST(UncertaintyScorer, IsTheSameForAnyOrderAndAnyBatches) {
  UncertaintyScorer at_once(2, TwoOfThree);
  UncertaintyScorer one_by_one(2, TwoOfThree);
  for (const Losses& losses : {Losses{1, 2}, Losses{.5F, 3}, Losses{.25F, .125F}}) {
    at_once.add(Ids{0, 1}, losses);
    one_by_one.add(Ids{1}, Losses{losses[1]});
    one_by_one.add(Ids{}, Losses{});
    one_by_one.add(Ids{0}, Losses{losses[0]});
    at_once.end_epoch();
    one_by_one.end_epoch();
  }
  EXPECT_EQ(at_once.uncertainties(), one_by_one.uncertainties());
  EXPECT_EQ(at_once.dual_scores(), one_by_one.dual_scores());
  EXPECT_EQ(at_once.mean_probabilities(), one_by_one.mean_probabilities());
}

TEST(UncertaintyScorer, WantsEnoughWholeEpochs) {
  UncertaintyScorer scorer(1, TwoOfThree);
  const auto refusal = [&](auto read) {
    return message_of<InvalidArgument>([&] { (void)(scorer.*read)(); });
  };
  const auto next_epoch = [&] {
    scorer.add(Ids{0}, Losses{1});
    scorer.end_epoch();
  };
  EXPECT_THAT(message_of<InvalidArgument>([&] { scorer.end_epoch(); }),
              HasSubstr("UncertaintyScorer::end_epoch: sample 0 was not added in epoch 0"));
  next_epoch();
  EXPECT_THAT(refusal(&UncertaintyScorer::uncertainties),
              HasSubstr("uncertainties: 1 epochs have ended; a window takes 2"));
  next_epoch();
  EXPECT_FALSE(scorer.dual_done());
  EXPECT_THAT(refusal(&UncertaintyScorer::dual_scores),
              HasSubstr("dual_scores: 2 of 3 epochs have ended"));
  EXPECT_THAT(refusal(&UncertaintyScorer::mean_probabilities),
              HasSubstr("mean_probabilities: 2 of 3 epochs have ended"));
  next_epoch();
  EXPECT_EQ(scorer.dual_scores().size(), 1U);
  scorer.add(Ids{0}, Losses{1});
  EXPECT_THAT(refusal(&UncertaintyScorer::uncertainties), HasSubstr("epoch 3 has begun"));
}

TEST(UncertaintyScorer, TakesInNothingOfABatchWithAFault) {
  UncertaintyScorer scorer(3, TwoOfThree);
  scorer.add(Ids{2}, Losses{1});
  const auto add = [&](const Ids& ids, const Losses& losses) {
    return message_of<InvalidArgument>([&] { scorer.add(ids, losses); });
  };
  EXPECT_THAT(add({0, 1}, {1, std::nanf("")}),
              HasSubstr("the loss of sample 1 is nan; losses must be finite and >= 0"));
  EXPECT_THAT(add({0, 1}, {1, std::numeric_limits<float>::infinity()}),
              HasSubstr("sample 1 is inf"));
  EXPECT_THAT(add({0, 1}, {1, -.5F}), HasSubstr("the loss of sample 1 is -0.5"));
  EXPECT_THAT(add({0, 3}, {1, 1}), HasSubstr("sample 3; ids lie between 0 and 2"));
  EXPECT_THAT(add({0, 1}, {1}), HasSubstr("1 losses for 2 samples; give one per sample"));
  EXPECT_THAT(add({0, 2}, {1, 1}), HasSubstr("sample 2 appears twice in epoch 0"));
  scorer.add(Ids{0, 1}, Losses{1, 1});
  scorer.end_epoch();
}

TEST(UncertaintyScorer, ExplainsItsOptions) {
  const auto refuse = [](const UncertaintyOptions& options, std::int64_t sample_count = 8) {
    return message_of<InvalidArgument>([&] { UncertaintyScorer scorer(sample_count, options); });
  };
  EXPECT_THAT(refuse({.window = 1}), HasSubstr("window is 1; it must be >= 2"));
  EXPECT_THAT(refuse({.window = 5, .dual_epochs = 4}), HasSubstr("dual_epochs is 4 and window 5"));
  EXPECT_THAT(refuse({}, 0), HasSubstr("sample_count is 0; it must lie between 1 and 4294967295"));
  const std::int64_t huge = std::int64_t{1} << 61;
  EXPECT_THAT(refuse({.window = huge, .dual_epochs = huge}),
              HasSubstr("UncertaintyScorer: 8 samples with 2305843009213693952 values each"));
}

}  // namespace
}  // namespace rcap
