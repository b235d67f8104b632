#include "train/training_data.hpp"

#include <algorithm>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "rcap/core/error.hpp"
#include "train/grouping.hpp"

namespace rcap {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

/// 100 samples of each of ten classes, generated; 30 of them are held out.
TrainOptions synthetic_options() {
  TrainOptions options;
  options.dataset = "synthetic";
  options.train_samples = 1000;
  options.hold_out = 0.3;
  return options;
}

std::vector<std::string> names_of(const Split& split) {
  std::vector<std::string> names;
  for (SampleId id = 0; id < split.size(); ++id) names.push_back(split.images->name_of(id));
  std::ranges::sort(names);
  return names;
}

TEST(HoldOutSamples, PutsEverySampleOnOneSideWithItsLabel) {
  TrainOptions options = synthetic_options();
  const Dataset split = open_training_data(options);
  EXPECT_THAT(group_sizes(split, split.train, GroupBy::Class), testing::Each(70));
  EXPECT_THAT(group_sizes(split, split.held_out, GroupBy::Class), testing::Each(30));
  EXPECT_EQ(split.test.size(), 1000);
  std::vector<std::string> names = names_of(split.train);
  const std::vector<std::string> held_out = names_of(split.held_out);
  names.insert(names.end(), held_out.begin(), held_out.end());
  std::ranges::sort(names);
  options.hold_out = 0;
  const Dataset whole = open_training_data(options);
  EXPECT_EQ(names, names_of(whole.train));
  EXPECT_EQ(whole.held_out.size(), 0);
  EXPECT_THAT(split.remarks, Contains("300 of 1000 training samples are held out (seed 0)"));
}

TEST(HoldOutSamples, AreDrawnBySeedFromWhatTheLongTailLeaves) {
  TrainOptions options = synthetic_options();
  options.imbalance = 10;
  const Dataset split = open_training_data(options);
  // The first class has 100 samples, the last a tenth of it.
  EXPECT_EQ(group_sizes(split, split.held_out, GroupBy::Class).front(), 30);
  EXPECT_EQ(group_sizes(split, split.held_out, GroupBy::Class).back(), 3);
  EXPECT_EQ(names_of(open_training_data(options).held_out), names_of(split.held_out));
  options.seed = 1;
  EXPECT_NE(names_of(open_training_data(options).held_out), names_of(split.held_out));
}

/// Ten samples of each of four groups, two groups of each class; there are no images.
Dataset four_groups() {
  Dataset dataset;
  dataset.name = "birds";
  dataset.class_names = {"landbird", "waterbird"};
  dataset.group_names = {"landbird/land", "landbird/water", "waterbird/land", "waterbird/water"};
  for (int i = 0; i < 40; ++i) {
    dataset.train.groups.push_back(i % 4);
    dataset.train.labels.push_back(i % 4 / 2);
  }
  return dataset;
}

TEST(HoldOutSamples, TakeTheirPartOfEveryGroup) {
  TrainOptions options;
  options.hold_out = 0.2;
  options.group_by = GroupBy::Group;
  Dataset dataset = four_groups();
  hold_out_samples(dataset, options);
  EXPECT_THAT(group_sizes(dataset, dataset.held_out, GroupBy::Group), ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(group_sizes(dataset, dataset.train, GroupBy::Group), ElementsAre(8, 8, 8, 8));
  EXPECT_THAT(dataset.held_out.labels, SizeIs(8));
}

TEST(AddLabelNoise, LeavesHeldOutAndTestLabelsRight) {
  TrainOptions options = synthetic_options();
  const Dataset right = open_training_data(options);
  options.label_noise = 0.1;
  const Dataset noisy = open_training_data(options);
  EXPECT_EQ(noisy.changed_labels, 70);  // a tenth of the 700 that are left
  EXPECT_EQ(names_of(noisy.train), names_of(right.train));
  int different = 0;
  for (std::size_t i = 0; i < noisy.train.labels.size(); ++i) {
    different += noisy.train.labels[i] != right.train.labels[i] ? 1 : 0;
  }
  EXPECT_EQ(different, 70);
  EXPECT_EQ(noisy.held_out.labels, right.held_out.labels);
  EXPECT_EQ(noisy.test.labels, right.test.labels);
  EXPECT_THAT(noisy.remarks, Contains("70 of 700 training labels are wrong on purpose (seed 0)"));
  EXPECT_EQ(right.changed_labels, 0);
}

TEST(AddLabelNoise, RefusesASingleClass) {
  TrainOptions options;
  options.label_noise = 0.1;
  Dataset dataset;
  dataset.class_names = {"all"};
  dataset.train.labels.assign(10, 0);
  EXPECT_THAT(message_of<InvalidArgument>([&] { add_label_noise(dataset, options); }),
              HasSubstr("label noise is 0.1 with 1 class"));
}

TEST(RequireCountingGroup, RefusesWhereNoneHasEnoughSamples) {
  TrainOptions options = synthetic_options();
  options.min_test_samples = 100;  // as many as each class has in the test part
  EXPECT_NO_THROW((void)open_training_data(options));
  options.min_test_samples = 101;
  EXPECT_THAT(
      message_of<InvalidArgument>([&] { (void)open_training_data(options); }),
      HasSubstr("min-test-samples is 101: the largest group of synthetic has 100 samples to "
                "evaluate on, so no group would count; choose at most 100"));
}

TEST(EvaluatedSplit, IsTheTestPartUnlessToldOtherwise) {
  const Dataset dataset;
  EXPECT_EQ(&evaluated_split(dataset, TrainOptions().evaluate), &dataset.test);
  EXPECT_EQ(&evaluated_split(dataset, Evaluate::HeldOut), &dataset.held_out);
}

}  // namespace
}  // namespace rcap
