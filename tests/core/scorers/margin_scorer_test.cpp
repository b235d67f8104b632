#include "rcap/core/scorers/margin_scorer.hpp"

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
using Logits = std::vector<float>;

std::shared_ptr<const ClassIndex> classes_of(const std::vector<int>& labels, ClassId class_count) {
  return std::make_shared<const ClassIndex>(std::span<const int>(labels), class_count);
}

TEST(MarginScorer, SumsProbabilityMarginsOverEpochs) {
  // .420512 + .864164 and -.364175 - .420512, up to the rounding of the sixth digit.
  MarginScorer scorer(classes_of({0, 0}, 3));
  scorer.add(Ids{0, 1}, Logits{2, 1, 0, 0, 1, 0});
  EXPECT_THAT(scorer.scores(),
              ElementsAre(FloatNear(.420512F, 1e-6F), FloatNear(-.364175F, 1e-6F)));
  scorer.add(Ids{0, 1}, Logits{3, 0, 0, 1, 0, 2});
  EXPECT_THAT(scorer.scores(),
              ElementsAre(FloatNear(1.284677F, 1e-6F), FloatNear(-.784688F, 1e-6F)));
}

TEST(MarginScorer, SumsLogitMarginsOverEpochs) {
  // 1 + 3 and -1 - 1.
  MarginScorer scorer(classes_of({0, 0}, 3), MarginKind::Logit);
  scorer.add(Ids{0, 1}, Logits{2, 1, 0, 0, 1, 0});
  EXPECT_THAT(scorer.scores(), ElementsAre(1, -1));
  scorer.add(Ids{0, 1}, Logits{3, 0, 0, 1, 0, 2});
  EXPECT_THAT(scorer.scores(), ElementsAre(4, -2));
}

TEST(MarginScorer, MeasuresFromTheTrueClass) {
  MarginScorer scorer(classes_of({0, 1, 2}, 3), MarginKind::Logit);
  scorer.add(Ids{0, 1, 2}, Logits{1, 2, 4, 1, 2, 4, 1, 2, 4});
  EXPECT_THAT(scorer.scores(), ElementsAre(-3, -2, 2));
}

TEST(MarginScorer, IsTheSameForAnyOrderAndAnyBatches) {
  const auto classes = classes_of({0, 1, 2}, 3);
  const std::vector<Logits> epochs = {{.3F, .1F, 2, 5, .7F, 1, 0, .2F, .9F},
                                      {1.1F, .4F, 3, 2, .9F, 0, 1, 7, .3F}};
  const auto row = [](const Logits& logits, SampleId id) {
    const auto first = logits.begin() + id * 3;
    return Logits(first, first + 3);
  };
  MarginScorer at_once(classes);
  MarginScorer one_by_one(classes);
  for (const Logits& logits : epochs) {
    at_once.add(Ids{0, 1, 2}, logits);
    for (const SampleId id : {2, 0, 1}) one_by_one.add(Ids{id}, row(logits, id));
  }
  EXPECT_EQ(at_once.scores(), one_by_one.scores());
}

TEST(MarginScorer, BearsTheLargestLogits) {
  const float most = std::numeric_limits<float>::max();
  MarginScorer scorer(classes_of({0, 1, 0}, 2));
  scorer.add(Ids{0, 1, 2}, Logits{most, -most, most, -most, -most, -most});
  EXPECT_THAT(scorer.scores(), ElementsAre(1, -1, 0));
}

TEST(MarginScorer, NamesASampleThatWasNeverAdded) {
  MarginScorer scorer(classes_of({0, 1, 0}, 2));
  scorer.add(Ids{0, 2}, Logits{1, 2, 3, 4});
  EXPECT_THAT(message_of<InvalidArgument>([&] { (void)scorer.scores(); }),
              HasSubstr("sample 1 was never added"));
}

TEST(MarginScorer, NamesASampleThatMissedAnEpoch) {
  MarginScorer scorer(classes_of({0, 1}, 2));
  scorer.add(Ids{0, 1}, Logits{1, 2, 3, 4});
  scorer.add(Ids{0}, Logits{1, 2});
  EXPECT_THAT(message_of<InvalidArgument>([&] { (void)scorer.scores(); }),
              HasSubstr("sample 1 was added 1 times, others 2"));
}

TEST(MarginScorer, AddsNothingOfABatchWithAFault) {
  MarginScorer scorer(classes_of({0, 1}, 2), MarginKind::Logit);
  scorer.add(Ids{0, 1}, Logits{3, 1, 1, 2});
  const float nan = std::nanf("");
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(message_of<InvalidArgument>([&] {
                scorer.add(Ids{0, 1}, Logits{9, 1, 1, nan});
              }),
              HasSubstr("logit 1 of sample 1 is nan"));
  EXPECT_THAT(message_of<InvalidArgument>([&] {
                scorer.add(Ids{0, 1}, Logits{9, 1, -infinity, 1});
              }),
              HasSubstr("logit 0 of sample 1 is -inf"));
  EXPECT_THAT(message_of<InvalidArgument>([&] {
                scorer.add(Ids{0, 2}, Logits{9, 1, 1, 1});
              }),
              HasSubstr("sample 2; ids lie between 0 and 1"));
  EXPECT_THAT(message_of<InvalidArgument>([&] {
                scorer.add(Ids{0, -1}, Logits{9, 1, 1, 1});
              }),
              HasSubstr("sample -1;"));
  for (const std::size_t count : {2, 3, 5, 6}) {
    EXPECT_THAT(message_of<InvalidArgument>([&] {
                  scorer.add(Ids{0, 1}, Logits(count));
                }),
                HasSubstr(std::to_string(count) + " logits for 2 samples; give 2 per sample"));
  }
  EXPECT_THAT(scorer.scores(), ElementsAre(2, 1));
}

TEST(MarginScorer, NeedsTwoClasses) {
  EXPECT_THAT(message_of<InvalidArgument>([] {
                MarginScorer scorer(classes_of({0, 0}, 1));
              }),
              HasSubstr("1 class; a margin needs at least 2"));
}

}  // namespace
}  // namespace rcap
