#include "rcap/core/scorers/divergence_scorer.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
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
using Ids = std::vector<SampleId>;
using Rows = std::vector<float>;

constexpr DivergenceOptions FourEpochs{.epochs = 4, .window = 3, .decay = 0.9};

/// Two classes.
std::shared_ptr<const ClassIndex> make_classes(std::size_t sample_count) {
  const std::vector<int> labels(sample_count);
  return std::make_shared<const ClassIndex>(std::span<const int>(labels), ClassId{2});
}

/// The probabilities of class 0 of the worked samples A and B, epoch by epoch.
const std::vector<float> SampleA = {.5F, .7F, .9F, .95F};
const std::vector<float> SampleB = {.5F, .4F, .8F, .6F};

/// The score of one sample whose class 0 has these probabilities.
float score_of(const std::vector<float>& course, const DivergenceOptions& options) {
  DivergenceScorer scorer(make_classes(1), options);
  for (const float p : course) {
    scorer.add(Ids{0}, Rows{p, 1 - p});
    scorer.end_epoch();
  }
  return scorer.scores().at(0);
}

TEST(DivergenceScorer, GivesTheWorkedScores) {
  // A: steps .388778, .336044, .086021; spreads .0372886, .1767930;
  // .9 * .1767930 + .09 * .0372886 = .1624696.
  EXPECT_THAT(score_of(SampleA, FourEpochs), FloatNear(.1624696F, 2e-7F));
  // B: steps .198650, .774240, .449868; spreads .4070035, .2293657.
  EXPECT_THAT(score_of(SampleB, FourEpochs), FloatNear(.2430594F, 2e-7F));
}

TEST(DivergenceScorer, TakesTheSpreadAloneWithOneWindow) {
  const DivergenceOptions one_window{.epochs = 3, .window = 3, .decay = 1.0};
  EXPECT_THAT(score_of({.5F, .7F, .9F}, one_window), FloatNear(.0372886F, 2e-7F));
  EXPECT_THAT(score_of({.5F, .4F, .8F}, one_window), FloatNear(.4070035F, 2e-7F));
}

TEST(DivergenceScorer, ForgetsStepsThatLeftTheWindow) {
  // With a weight of 1 only the last window counts: the last three epochs.
  const DivergenceOptions last_window{.epochs = 6, .window = 3, .decay = 1.0};
  EXPECT_EQ(score_of({.1F, .9F, .2F, .5F, .7F, .9F}, last_window),
            score_of({.5F, .7F, .9F}, {.epochs = 3, .window = 3, .decay = 1.0}));
}

TEST(DivergenceScorer, GivesZeroToAPredictionThatNeverMoves) {
  for (const float p : {0.0F, .3F, 1.0F}) {
    EXPECT_EQ(score_of({p, p, p, p}, FourEpochs), 0.0F) << p;
  }
}

TEST(DivergenceScorer, BearsProbabilitiesOfZeroAndOne) {
  const float score = score_of({1, 0, 1, 1}, FourEpochs);
  EXPECT_TRUE(std::isfinite(score));
  EXPECT_GT(score, 1.0F);
}

TEST(DivergenceScorer, IsTheSameForAnyOrderAndAnyBatches) {
  DivergenceScorer at_once(make_classes(2), FourEpochs);
  DivergenceScorer one_by_one(make_classes(2), FourEpochs);
  for (std::size_t epoch = 0; epoch < 4; ++epoch) {
    const float a = SampleA[epoch];
    const float b = SampleB[epoch];
    at_once.add(Ids{0, 1}, Rows{a, 1 - a, b, 1 - b});
    one_by_one.add(Ids{1}, Rows{b, 1 - b});
    one_by_one.add(Ids{}, Rows{});
    one_by_one.add(Ids{0}, Rows{a, 1 - a});
    at_once.end_epoch();
    one_by_one.end_epoch();
  }
  EXPECT_EQ(at_once.scores(), one_by_one.scores());
  EXPECT_THAT(at_once.scores(),
              ElementsAre(score_of(SampleA, FourEpochs), score_of(SampleB, FourEpochs)));
}

TEST(DivergenceScorer, IsDoneAfterItsEpochs) {
  DivergenceScorer scorer(make_classes(1), FourEpochs);
  for (int epoch = 0; epoch < 4; ++epoch) {
    EXPECT_FALSE(scorer.done());
    EXPECT_THAT(message_of<InvalidArgument>([&] { (void)scorer.scores(); }),
                HasSubstr(std::to_string(epoch) + " of 4 epochs have ended"));
    scorer.add(Ids{0}, Rows{.5F, .5F});
    scorer.end_epoch();
  }
  EXPECT_TRUE(scorer.done());
  EXPECT_THAT(message_of<InvalidArgument>([&] {
                scorer.add(Ids{0}, Rows{.5F, .5F});
              }),
              HasSubstr("all 4 epochs are done"));
  EXPECT_THAT(message_of<InvalidArgument>([&] { scorer.end_epoch(); }),
              HasSubstr("all 4 epochs are done"));
}

TEST(DivergenceScorer, NamesTheFirstSampleThatMissedAnEpoch) {
  DivergenceScorer scorer(make_classes(200), FourEpochs);
  for (SampleId id = 0; id < 200; ++id) {
    if (id != 130 && id != 140) scorer.add(Ids{id}, Rows{.5F, .5F});
  }
  EXPECT_THAT(message_of<InvalidArgument>([&] { scorer.end_epoch(); }),
              HasSubstr("sample 130 was not added in epoch 0"));
  // The epoch stays open, so the fault can be mended.
  scorer.add(Ids{140, 130}, Rows{.5F, .5F, .5F, .5F});
  scorer.end_epoch();
  EXPECT_THAT(message_of<InvalidArgument>([&] { scorer.end_epoch(); }),
              HasSubstr("sample 0 was not added in epoch 1"));
}

TEST(DivergenceScorer, TakesInNothingOfABatchWithAFault) {
  DivergenceScorer scorer(make_classes(3), FourEpochs);
  scorer.add(Ids{2}, Rows{.5F, .5F});
  const auto add = [&](const Ids& ids, const Rows& rows) {
    return message_of<InvalidArgument>([&] { scorer.add(ids, rows); });
  };
  EXPECT_THAT(add({0, 2}, {.5F, .5F, .5F, .5F}), HasSubstr("sample 2 appears twice in epoch 0"));
  EXPECT_THAT(add({0, 1, 0}, {.5F, .5F, .5F, .5F, .5F, .5F}), HasSubstr("sample 0 appears twice"));
  EXPECT_THAT(add({0, 1}, {.5F, .5F, 1.25F, -.25F}),
              HasSubstr("probability 1 of sample 1 is -0.25"));
  EXPECT_THAT(add({0, 1}, {.5F, .5F, std::nanf(""), 1}),
              HasSubstr("probability 0 of sample 1 is nan"));
  EXPECT_THAT(add({0, 1}, {.5F, .5F, .25F, .5F}),
              HasSubstr("the probabilities of sample 1 add up to 0.75"));
  EXPECT_THAT(add({0, 1}, {.5F, .5F, std::numeric_limits<float>::infinity(), 0}),
              HasSubstr("the probabilities of sample 1 add up to inf"));
  EXPECT_THAT(add({0, 3}, {.5F, .5F, .5F, .5F}), HasSubstr("sample 3; ids lie between 0 and 2"));
  EXPECT_THAT(add({0, -1}, {.5F, .5F, .5F, .5F}), HasSubstr("sample -1;"));
  EXPECT_THAT(add({0, 1}, {.5F, .5F, .5F}), HasSubstr("3 probabilities for 2 samples"));
  // Samples 0 and 1 are still to come, and sample 2 is not.
  scorer.add(Ids{0, 1}, Rows{.5F, .5F, .5F, .5F});
  scorer.end_epoch();
}

TEST(DivergenceScorer, BearsRoundingInTheSumOfARow) {
  DivergenceScorer scorer(make_classes(1), FourEpochs);
  scorer.add(Ids{0}, Rows{.5F, .5009F});
  EXPECT_THAT(message_of<InvalidArgument>([&] {
                DivergenceScorer other(make_classes(1), FourEpochs);
                other.add(Ids{0}, Rows{.5F, .502F});
              }),
              HasSubstr("add up to 1.00"));
}

TEST(DivergenceScorer, ExplainsItsOptions) {
  const auto refuse = [](const DivergenceOptions& options) {
    return message_of<InvalidArgument>([&] { DivergenceScorer scorer(make_classes(8), options); });
  };
  EXPECT_THAT(refuse({.epochs = 10, .window = 2}), HasSubstr("every score would be 0"));
  EXPECT_THAT(refuse({.epochs = 4, .window = 5}), HasSubstr("epochs is 4 and window 5"));
  EXPECT_THAT(refuse({.decay = 0.0}), HasSubstr("decay is 0"));
  EXPECT_THAT(refuse({.decay = 1.5}), HasSubstr("decay is 1.5"));
  EXPECT_THAT(refuse({.decay = std::nan("")}), HasSubstr("decay is nan"));
  const std::int64_t huge = std::int64_t{1} << 61;
  EXPECT_THAT(refuse({.epochs = huge, .window = huge}), HasSubstr("more than memory can hold"));
}

TEST(DivergenceScorer, NeedsTwoClasses) {
  const std::vector<int> labels(3);
  const auto classes = std::make_shared<const ClassIndex>(std::span<const int>(labels));
  EXPECT_THAT(message_of<InvalidArgument>([&] { DivergenceScorer scorer(classes); }),
              HasSubstr("1 class;"));
}

}  // namespace
}  // namespace rcap
