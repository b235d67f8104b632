#include "rcap/core/scorers/recall_scorer.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/expect_throw.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsNan;
using Classes = std::vector<ClassId>;

TEST(RecallScorer, CountsPerTrueClass) {
  // Class 0: 2 of 4 right, class 1: 1 of 2.
  RecallScorer scorer(2);
  scorer.add(Classes{0, 0, 0, 0, 1, 1}, Classes{0, 0, 1, 1, 1, 0});
  scorer.end_epoch();
  EXPECT_THAT(scorer.recalls(), ElementsAre(0.5, 0.5));
}

TEST(RecallScorer, IsTheSameForAnyOrderAndAnyBatches) {
  RecallScorer scorer(2);
  scorer.add(Classes{1, 0}, Classes{0, 1});
  scorer.add(Classes{}, Classes{});
  scorer.add(Classes{0, 1, 0, 0}, Classes{0, 1, 1, 0});
  scorer.end_epoch();
  EXPECT_THAT(scorer.recalls(), ElementsAre(0.5, 0.5));
}

TEST(RecallScorer, KeepsTheEpochOfBestAccuracy) {
  const Classes labels = {0, 0, 0, 1};
  RecallScorer scorer(2);
  scorer.add(labels, Classes{1, 1, 0, 1});  // 2 of 4, the best mean recall
  scorer.end_epoch();
  scorer.add(labels, Classes{0, 0, 0, 0});  // 3 of 4
  scorer.end_epoch();
  scorer.add(labels, Classes{0, 1, 1, 1});  // 2 of 4
  scorer.end_epoch();
  EXPECT_THAT(scorer.recalls(), ElementsAre(1.0, 0.0));
}

TEST(RecallScorer, KeepsTheFirstOfEquallyAccurateEpochs) {
  RecallScorer scorer(2);
  scorer.add(Classes{0, 1}, Classes{0, 0});
  scorer.end_epoch();
  scorer.add(Classes{0, 1}, Classes{1, 1});
  scorer.end_epoch();
  EXPECT_THAT(scorer.recalls(), ElementsAre(1.0, 0.0));
}

TEST(RecallScorer, ComparesAccuraciesAndNotCounts) {
  RecallScorer scorer(2);
  scorer.add(Classes{0, 1}, Classes{0, 1});  // 2 of 2
  scorer.end_epoch();
  scorer.add(Classes{0, 0, 0, 1}, Classes{0, 0, 0, 0});  // 3 of 4
  scorer.end_epoch();
  EXPECT_THAT(scorer.recalls(), ElementsAre(1.0, 1.0));
}

TEST(RecallScorer, AveragesOverModels) {
  RecallScorer scorer(2);
  scorer.add(Classes{0, 0, 1, 1}, Classes{0, 0, 1, 0});  // 1, 1/2
  scorer.end_epoch();
  scorer.end_model();
  EXPECT_THAT(scorer.recalls(), ElementsAre(1.0, 0.5));
  // Worse than the first model, but a model of its own.
  scorer.add(Classes{0, 0, 1, 1}, Classes{1, 1, 0, 1});  // 0, 1/2
  scorer.end_epoch();
  EXPECT_THAT(scorer.recalls(), ElementsAre(0.5, 0.5));
  scorer.end_model();
  EXPECT_THAT(scorer.recalls(), ElementsAre(0.5, 0.5));
  scorer.add(Classes{0, 0, 1, 1}, Classes{0, 1, 1, 1});  // 1/2, 1
  scorer.end_epoch();
  scorer.end_model();
  EXPECT_THAT(scorer.recalls(), ElementsAre(DoubleEq(0.5), DoubleEq(2.0 / 3)));
}

TEST(RecallScorer, GivesNanToAClassWithoutSamples) {
  RecallScorer scorer(3);
  scorer.add(Classes{0, 2}, Classes{1, 2});
  scorer.end_epoch();
  EXPECT_THAT(scorer.recalls(), ElementsAre(0.0, IsNan(), 1.0));
}

TEST(RecallScorer, AveragesAClassOverTheModelsThatHadIt) {
  RecallScorer scorer(2);
  scorer.add(Classes{0}, Classes{0});
  scorer.end_epoch();
  scorer.end_model();
  scorer.add(Classes{0, 1, 1}, Classes{1, 1, 0});
  scorer.end_epoch();
  scorer.end_model();
  EXPECT_THAT(scorer.recalls(), ElementsAre(0.5, 0.5));
}

TEST(RecallScorer, CountsNothingOfABatchWithAFault) {
  RecallScorer scorer(2);
  EXPECT_THAT(message_of<InvalidArgument>([&] {
                scorer.add(Classes{0, 2}, Classes{0, 1});
              }),
              HasSubstr("labels[1] is 2; classes lie between 0 and 1"));
  EXPECT_THAT(message_of<InvalidArgument>([&] {
                scorer.add(Classes{0, 1}, Classes{0, -1});
              }),
              HasSubstr("predictions[1] is -1"));
  EXPECT_THAT(message_of<InvalidArgument>([&] {
                scorer.add(Classes{0, 1}, Classes{0});
              }),
              HasSubstr("2 labels and 1 predictions"));
  EXPECT_THAT(message_of<InvalidArgument>([&] { scorer.end_epoch(); }),
              HasSubstr("nothing was added"));
}

TEST(RecallScorer, SaysWhatIsMissing) {
  RecallScorer scorer(2);
  EXPECT_THAT(message_of<InvalidArgument>([&] { (void)scorer.recalls(); }),
              HasSubstr("no epoch has ended"));
  EXPECT_THAT(message_of<InvalidArgument>([&] { scorer.end_model(); }),
              HasSubstr("the model had no epoch"));
  scorer.add(Classes{0}, Classes{0});
  EXPECT_THAT(message_of<InvalidArgument>([&] { scorer.end_model(); }),
              HasSubstr("an epoch with 1 samples is open"));
  EXPECT_THAT(message_of<InvalidArgument>([] { RecallScorer none(0); }),
              HasSubstr("class_count is 0"));
}

}  // namespace
}  // namespace rcap
