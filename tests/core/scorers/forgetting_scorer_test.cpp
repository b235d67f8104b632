#include "rcap/core/scorers/forgetting_scorer.hpp"

#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/expect_throw.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Ids = std::vector<SampleId>;
using Predictions = std::vector<ClassId>;

/// Samples of class 1 out of three.
std::shared_ptr<const ClassIndex> of_class_one(std::size_t sample_count) {
  const std::vector<int> labels(sample_count, 1);
  return std::make_shared<const ClassIndex>(std::span<const int>(labels), ClassId{3});
}

/// The scores of samples that were right (+) or wrong (-) in each epoch.
std::vector<float> scores_of(const std::vector<std::string>& courses) {
  ForgettingScorer scorer(of_class_one(courses.size()));
  for (std::size_t epoch = 0; epoch < courses[0].size(); ++epoch) {
    for (std::size_t i = 0; i < courses.size(); ++i) {
      scorer.add(Ids{static_cast<SampleId>(i)}, Predictions{courses[i][epoch] == '+' ? 1 : 2});
    }
    scorer.end_epoch();
  }
  return scorer.scores();
}

TEST(ForgettingScorer, CountsHowOftenRightBecameWrong) {
  EXPECT_THAT(scores_of({"++++", "+-+-", "-+++", "-+--", "+--+"}), ElementsAre(0, 2, 0, 1, 1));
}

TEST(ForgettingScorer, PutsWhatWasNeverRightAboveEveryCount) {
  EXPECT_THAT(scores_of({"+-+-", "----", "++++"}), ElementsAre(2, 3, 0));
  EXPECT_THAT(scores_of({"+", "-"}), ElementsAre(0, 1));
  EXPECT_THAT(scores_of({"--", "--"}), ElementsAre(1, 1));
}

TEST(ForgettingScorer, AgreesWithCountingInAWholeHistory) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::vector<std::string> courses(1 + random() % 20);
    const std::size_t epochs = 1 + random() % 12;
    for (std::string& course : courses) {
      while (course.size() < epochs) course += random() % 3 == 0 ? '+' : '-';
    }
    std::vector<float> expected;
    float highest = 0;
    for (const std::string& course : courses) {
      float forgotten = 0;
      for (std::size_t i = 1; i < epochs; ++i) {
        if (course.substr(i - 1, 2) == "+-") ++forgotten;
      }
      expected.push_back(forgotten);
      highest = std::max(highest, forgotten);
    }
    for (std::size_t i = 0; i < courses.size(); ++i) {
      if (courses[i].find('+') == std::string::npos) expected[i] = highest + 1;
    }
    ASSERT_EQ(scores_of(courses), expected);
  }
}

TEST(ForgettingScorer, IsTheSameForAnyOrderAndAnyBatches) {
  ForgettingScorer at_once(of_class_one(3));
  ForgettingScorer in_parts(of_class_one(3));
  for (const Predictions& p : {Predictions{1, 1, 0}, Predictions{0, 1, 1}}) {
    at_once.add(Ids{0, 1, 2}, p);
    in_parts.add(Ids{2}, Predictions{p[2]});
    in_parts.add(Ids{1, 0}, Predictions{p[1], p[0]});
    at_once.end_epoch();
    in_parts.end_epoch();
  }
  EXPECT_THAT(at_once.scores(), ElementsAre(1, 0, 0));
  EXPECT_EQ(at_once.scores(), in_parts.scores());
}

TEST(ForgettingScorer, WantsWholeEpochs) {
  ForgettingScorer scorer(of_class_one(2));
  EXPECT_THAT(message_of<InvalidArgument>([&] { (void)scorer.scores(); }),
              HasSubstr("ForgettingScorer::scores: no epoch has ended"));
  scorer.add(Ids{1}, Predictions{1});
  EXPECT_THAT(message_of<InvalidArgument>([&] { scorer.end_epoch(); }),
              HasSubstr("ForgettingScorer::end_epoch: sample 0 was not added in epoch 0"));
  scorer.add(Ids{0}, Predictions{1});
  scorer.end_epoch();
  scorer.add(Ids{0}, Predictions{0});
  EXPECT_THAT(message_of<InvalidArgument>([&] { (void)scorer.scores(); }),
              HasSubstr("epoch 1 has begun; end it first"));
}

TEST(ForgettingScorer, TakesInNothingOfABatchWithAFault) {
  ForgettingScorer scorer(of_class_one(2));
  scorer.add(Ids{0, 1}, Predictions{1, 1});
  scorer.end_epoch();
  const auto add = [&](const Ids& ids, const Predictions& predictions) {
    return message_of<InvalidArgument>([&] { scorer.add(ids, predictions); });
  };
  EXPECT_THAT(add({0, 1}, {0, 3}),
              HasSubstr("the prediction for sample 1 is 3; classes lie between 0 and 2"));
  EXPECT_THAT(add({0, 1}, {0, -1}), HasSubstr("the prediction for sample 1 is -1"));
  EXPECT_THAT(add({0, 2}, {0, 0}), HasSubstr("sample 2; ids lie between 0 and 1"));
  EXPECT_THAT(add({0, 1}, {0, 0, 0}),
              HasSubstr("3 predictions for 2 samples; give one per sample"));
  EXPECT_THAT(add({0, 0}, {0, 0}), HasSubstr("sample 0 appears twice in epoch 1"));
  scorer.add(Ids{0, 1}, Predictions{1, 1});
  scorer.end_epoch();
  EXPECT_THAT(scorer.scores(), ElementsAre(0, 0));
}

}  // namespace
}  // namespace rcap
