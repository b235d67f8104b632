#include "rcap/core/scorers/el2n_scorer.hpp"

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

constexpr El2nOptions OneEpoch{.first_epoch = 0, .last_epoch = 0};

/// One sample of each label.
std::shared_ptr<const ClassIndex> with_labels(const std::vector<int>& labels, ClassId classes) {
  return std::make_shared<const ClassIndex>(std::span<const int>(labels), classes);
}

TEST(El2nScorer, GivesTheLengthOfTheError) {
  // (-.3, .2, .1): sqrt(.14). (.1, .8, -.9): sqrt(1.46). (.25, .25, -.5): sqrt(.375).
  El2nScorer scorer(with_labels({0, 2, 2}, 3), OneEpoch);
  scorer.add(Ids{0, 1, 2}, Rows{.7F, .2F, .1F, .1F, .8F, .1F, .25F, .25F, .5F});
  scorer.end_epoch();
  EXPECT_THAT(scorer.scores(),
              ElementsAre(FloatNear(.37416574F, 1e-7F), FloatNear(1.2083046F, 2e-7F),
                          FloatNear(.61237244F, 1e-7F)));
}

TEST(El2nScorer, RunsFromZeroToTheRootOfTwo) {
  El2nScorer scorer(with_labels({0, 0}, 2), OneEpoch);
  scorer.add(Ids{0, 1}, Rows{1, 0, 0, 1});
  scorer.end_epoch();
  EXPECT_THAT(scorer.scores(), ElementsAre(0.0F, std::sqrt(2.0F)));
}

TEST(El2nScorer, TakesTheMeanOfItsEpochsAlone) {
  // With two classes the length is sqrt(2) (1 - p): of p = .5 and p = .75 in epochs 1 and 2.
  El2nScorer scorer(with_labels({0}, 2), {.first_epoch = 1, .last_epoch = 2});
  for (const float p : {.0F, .5F, .75F}) {
    EXPECT_FALSE(scorer.done());
    scorer.add(Ids{0}, Rows{p, 1 - p});
    scorer.end_epoch();
  }
  EXPECT_TRUE(scorer.done());
  EXPECT_THAT(scorer.scores(), ElementsAre(FloatNear(std::sqrt(2.0F) * .375F, 1e-7F)));
}

TEST(El2nScorer, ScoresTheTenEpochsUpToTheTwentiethByDefault) {
  El2nScorer scorer(with_labels({0}, 2));
  for (int epoch = 0; epoch < 20; ++epoch) {
    EXPECT_FALSE(scorer.done());
    const float p = epoch < 10 ? .25F : .5F;
    scorer.add(Ids{0}, Rows{p, 1 - p});
    scorer.end_epoch();
  }
  EXPECT_TRUE(scorer.done());
  EXPECT_THAT(scorer.scores(), ElementsAre(FloatNear(std::sqrt(.5F), 1e-7F)));
}

TEST(El2nScorer, IsTheSameForAnyOrderAndAnyBatches) {
  const auto classes = with_labels({0, 1}, 2);
  El2nScorer at_once(classes, OneEpoch);
  El2nScorer one_by_one(classes, OneEpoch);
  at_once.add(Ids{0, 1}, Rows{.7F, .3F, .6F, .4F});
  one_by_one.add(Ids{1}, Rows{.6F, .4F});
  one_by_one.add(Ids{}, Rows{});
  one_by_one.add(Ids{0}, Rows{.7F, .3F});
  at_once.end_epoch();
  one_by_one.end_epoch();
  EXPECT_EQ(at_once.scores(), one_by_one.scores());
}

TEST(El2nScorer, WantsNeitherMoreNorFewerEpochs) {
  El2nScorer scorer(with_labels({0}, 2), OneEpoch);
  EXPECT_THAT(message_of<InvalidArgument>([&] { (void)scorer.scores(); }),
              HasSubstr("El2nScorer::scores: 0 of 1 epochs have ended"));
  EXPECT_THAT(message_of<InvalidArgument>([&] { scorer.end_epoch(); }),
              HasSubstr("El2nScorer::end_epoch: sample 0 was not added in epoch 0"));
  scorer.add(Ids{0}, Rows{.5F, .5F});
  scorer.end_epoch();
  EXPECT_THAT(message_of<InvalidArgument>([&] {
                scorer.add(Ids{0}, Rows{.5F, .5F});
              }),
              HasSubstr("El2nScorer::add: all 1 epochs are done"));
  EXPECT_THAT(message_of<InvalidArgument>([&] { scorer.end_epoch(); }),
              HasSubstr("all 1 epochs are done already"));
}

TEST(El2nScorer, TakesInNothingOfABatchWithAFault) {
  El2nScorer scorer(with_labels({0, 0, 0}, 2), {.first_epoch = 1, .last_epoch = 1});
  scorer.add(Ids{2}, Rows{.5F, .5F});
  const auto add = [&](const Ids& ids, const Rows& rows) {
    return message_of<InvalidArgument>([&] { scorer.add(ids, rows); });
  };
  EXPECT_THAT(add({0, 2}, {.5F, .5F, .5F, .5F}),
              HasSubstr("El2nScorer::add: sample 2 appears twice in epoch 0"));
  EXPECT_THAT(add({0, 1}, {.5F, .5F, 1.25F, -.25F}),
              HasSubstr("probability 1 of sample 1 is -0.25; it must be >= 0"));
  EXPECT_THAT(add({0, 1}, {.5F, .5F, 2, 3}),
              HasSubstr("sample 1 add up to 5; they must add up to 1: give softmax outputs"));
  EXPECT_THAT(add({0, 3}, {.5F, .5F, .5F, .5F}), HasSubstr("sample 3; ids lie between 0 and 2"));
  EXPECT_THAT(add({0, 1}, {.5F, .5F, .5F}),
              HasSubstr("3 probabilities for 2 samples; give 2 per sample"));
  scorer.add(Ids{0, 1}, Rows{.5F, .5F, .5F, .5F});
  scorer.end_epoch();
}

TEST(El2nScorer, ExplainsItsOptions) {
  const auto refuse = [](const El2nOptions& options, ClassId classes = 2) {
    return message_of<InvalidArgument>(
        [&] { El2nScorer scorer(with_labels({0}, classes), options); });
  };
  EXPECT_THAT(refuse({.first_epoch = -1}), HasSubstr("first_epoch is -1; it must be >= 0"));
  EXPECT_THAT(refuse({.first_epoch = 5, .last_epoch = 4}),
              HasSubstr("first_epoch is 5 and last_epoch 4; the last must not come before"));
  EXPECT_THAT(refuse({.last_epoch = std::numeric_limits<std::int64_t>::max()}),
              HasSubstr("must be below 2^63 - 1"));
  EXPECT_THAT(refuse({}, 1), HasSubstr("El2nScorer: 1 class; there must be at least 2"));
}

}  // namespace
}  // namespace rcap
