#include "rcap/core/pruners/infobatch_pruner.hpp"

#include <cmath>
#include <numeric>

#include <gmock/gmock.h>

#include "core/all_methods.hpp"

namespace rcap {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatNear;

using Ids = std::vector<SampleId>;
using Losses = std::vector<float>;

/// The selection of epoch 1 after epoch 0 saw these losses.
Selection second_epoch(const Losses& losses, const InfoBatchOptions& options) {
  InfoBatchPruner pruner(all_of_one_class(losses.size()), {}, options);
  const Ids ids = pruner.select(0).ids;
  EXPECT_EQ(ids.size(), losses.size());
  pruner.observe(ids, losses);
  return pruner.select(1);
}

float total_weight(const Selection& selection) {
  return std::accumulate(selection.weights.begin(), selection.weights.end(), 0.0F);
}

TEST(InfoBatch, KeepsHalfOfTheSamplesBelowTheMeanAtTwiceTheWeight) {
  // Mean 1.0: four below, two of them kept; weights 2 + 2 + 1 = 5 = n.
  const Selection selection = second_epoch({.1F, .2F, .3F, .4F, 4.0F}, {.epochs = 10});
  EXPECT_EQ(selection.ids.size(), 3U);
  EXPECT_EQ(selection.ids.back(), 4);
  EXPECT_THAT(selection.weights, ElementsAre(2, 2, 1));
}

TEST(InfoBatch, CountsItsWeightsInThePrior) {
  // Epoch 0 takes all: class 0 has 4, class 1 has 1. Epoch 1 keeps two of the four below the mean
  // at twice the weight: 4 and 1 again, though it trains on 2 and 1.
  const auto classes = std::make_shared<const ClassIndex>(std::vector<int>{0, 0, 0, 0, 1});
  InfoBatchPruner pruner(classes, {}, {.epochs = 10});
  pruner.observe(pruner.select(0).ids, Losses{.1F, .2F, .3F, .4F, 4.0F});
  EXPECT_EQ(pruner.select(1).ids.size(), 3U);
  EXPECT_THAT(pruner.log_prior(), ElementsAre(testing::DoubleNear(std::log(0.8), 1e-14),
                                              testing::DoubleNear(std::log(0.2), 1e-14)));
}

TEST(InfoBatch, TruncatesTheKeptCount) {
  // Mean 1.0: five below, two kept; the weights add up to 5 of 6.
  const Selection selection = second_epoch({.1F, .2F, .3F, .4F, .5F, 4.5F}, {.epochs = 10});
  EXPECT_EQ(selection.ids.size(), 3U);
  EXPECT_EQ(total_weight(selection), 5);
}

TEST(InfoBatch, WeighsByTheKeptPartButNeverAboveTen) {
  Losses losses(100, 0.5F);
  losses[0] = 100;
  EXPECT_THAT(second_epoch(losses, {.prune_probability = 0.7, .epochs = 10}).weights.back(),
              FloatNear(3.3333F, 1e-4F));
  const Selection clamped = second_epoch(losses, {.prune_probability = 0.95, .epochs = 10});
  EXPECT_EQ(clamped.weights.back(), 10);
  EXPECT_EQ(clamped.ids.size(), 1U + 9U);  // trunc(.1 * 99) of those below
}

TEST(InfoBatch, PrunesNothingWhereAllLossesAreEqual) {
  // A float32 mean of equal values can exceed them.
  const Selection selection = second_epoch(Losses(12'811, 0.1F), {.epochs = 10});
  EXPECT_EQ(selection.ids.size(), 12'811U);
  EXPECT_THAT(selection.weights, Each(1));
}

Ids pruned_epochs(std::int64_t epochs) {
  InfoBatchPruner pruner(all_of_one_class(100), {}, {.epochs = epochs});
  Ids pruned;
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    const Selection selection = pruner.select(epoch);
    if (selection.ids.size() < 100) {
      pruned.push_back(epoch);
    } else {
      EXPECT_THAT(selection.weights, Each(1)) << epoch;
    }
    Losses losses;
    for (const SampleId id : selection.ids) losses.push_back(id < 90 ? 0.1F : 5.0F);
    pruner.observe(selection.ids, losses);
  }
  return pruned;
}

TEST(InfoBatch, AnnealsWithWholeEpochsOfWeightOne) {
  for (const auto& [epochs, last] : {std::pair{5, 3}, std::pair{8, 6}, std::pair{10, 7},
                                     std::pair{16, 13}, std::pair{200, 174}}) {
    const Ids pruned = pruned_epochs(epochs);
    ASSERT_FALSE(pruned.empty());
    EXPECT_EQ(pruned.front(), 1);
    EXPECT_EQ(pruned.back(), last);
    EXPECT_EQ(static_cast<int>(pruned.size()), last);
  }
}

TEST(InfoBatch, BudgetModeCountsTheBatchesOfTheWholeRun) {
  const auto batches = [](double rate) {
    return *InfoBatchPruner(all_of_one_class(50'000), {.pruning_rate = rate},
                            {.epochs = 200, .batch_size = 128})
                .planned_batches(200, 128);
  };
  EXPECT_EQ(batches(0.5), 39'100);
  EXPECT_EQ(batches(0.7), 23'460);
  EXPECT_EQ(batches(0.8), 15'640);
  EXPECT_EQ(batches(0.9), 7'820);
  EXPECT_EQ(batches(0.99999), 1);  // of 0.782
}

TEST(InfoBatch, BudgetModeEndsAtTheBudgetInMidEpoch) {
  // 100 samples in batches of 10, 8 epochs at 0.8: 16 batches. Epoch 0 takes 10; epoch 1
  // starts at 10 / 16 < .875 and prunes 90 low ones to 45: 55 samples, 6 batches: all.
  InfoBatchPruner pruner(all_of_one_class(100), {.pruning_rate = 0.8},
                         {.epochs = 8, .batch_size = 10});
  std::vector<std::size_t> sizes;
  for (std::int64_t epoch = 0; epoch < 8; ++epoch) {
    const Selection selection = pruner.select(epoch);
    sizes.push_back(selection.ids.size());
    Losses losses;
    for (const SampleId id : selection.ids) losses.push_back(id < 90 ? 0.1F : 5.0F);
    pruner.observe(selection.ids, losses);
  }
  EXPECT_THAT(sizes, ElementsAre(100, 55, 0, 0, 0, 0, 0, 0));

  // At .9 there are 8 batches: epoch 0 is cut to 80 random samples.
  InfoBatchPruner shorter(all_of_one_class(100), {.pruning_rate = 0.9},
                          {.epochs = 8, .batch_size = 10});
  const Selection cut = shorter.select(0);
  EXPECT_EQ(cut.ids.size(), 80U);
  EXPECT_GT(cut.ids.back(), 80);
}

}  // namespace
}  // namespace rcap
