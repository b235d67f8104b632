#include "rcap/core/pruners/uniform_pruners.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <gmock/gmock.h>

namespace rcap {
namespace {

using testing::ElementsAre;

using Ids = std::vector<SampleId>;

std::shared_ptr<const ClassIndex> ten_samples() {
  return std::make_shared<const ClassIndex>(std::vector<int>(10, 0));
}

Ids intersection(const Ids& a, const Ids& b) {
  Ids both;
  std::ranges::set_intersection(a, b, std::back_inserter(both));
  return both;
}

TEST(Rs2, WalksThroughTheDataInBlocks) {
  // n = 10, K = 3: three blocks without a repeat, then positions 9, 0, 1, then anew.
  Rs2Pruner pruner(ten_samples(), {.pruning_rate = 0.7}, {});
  std::vector<Ids> blocks;
  for (int epoch = 0; epoch < 8; ++epoch) blocks.push_back(pruner.select(epoch).ids);
  std::set<SampleId> seen;
  for (int b = 0; b < 3; ++b) seen.insert(blocks.at(b).begin(), blocks.at(b).end());
  EXPECT_EQ(seen.size(), 9U);
  ASSERT_EQ(blocks.at(3).size(), 3U);
  // One is the sample not seen before, two come from the first block again.
  EXPECT_EQ(intersection(blocks.at(3), blocks.at(0)).size(), 2U);
  EXPECT_EQ(std::ranges::count_if(blocks.at(3), [&](SampleId id) { return !seen.contains(id); }),
            1);
  // The second permutation is another one, and again without a repeat.
  EXPECT_FALSE(std::equal(blocks.begin(), blocks.begin() + 3, blocks.begin() + 4));
  seen.clear();
  for (int b = 4; b < 7; ++b) seen.insert(blocks.at(b).begin(), blocks.at(b).end());
  EXPECT_EQ(seen.size(), 9U);
}

TEST(Rs2, CoversTheDataExactlyOnceWhereTheBlocksFit) {
  Rs2Pruner pruner(ten_samples(), {.pruning_rate = 0.5}, {});
  for (int pass = 0; pass < 4; ++pass) {
    const Ids first = pruner.select(2 * pass).ids;
    const Ids second = pruner.select(2 * pass + 1).ids;
    EXPECT_EQ(first.size() + second.size(), 10U);
    EXPECT_TRUE(intersection(first, second).empty());
  }
}

TEST(Rs2, FillsALargeLastBlockFromTheStart) {
  // n = 10, K = 7: 7, then positions 7, 8, 9, 0, 1, 2, 3: four in common.
  Rs2Pruner pruner(ten_samples(), {.pruning_rate = 0.3}, {});
  const Ids first = pruner.select(0).ids;
  const Ids second = pruner.select(1).ids;
  EXPECT_EQ(second.size(), 7U);
  EXPECT_EQ(intersection(first, second).size(), 4U);
}

TEST(Rs2, IsAPureFunctionOfTheEpoch) {
  Rs2Pruner walked(ten_samples(), {.pruning_rate = 0.7}, {});
  for (int epoch = 0; epoch < 6; ++epoch) walked.select(epoch);
  Rs2Pruner jumped(ten_samples(), {.pruning_rate = 0.7}, {});
  EXPECT_EQ(jumped.select(5).ids, walked.select(5).ids);
}

TEST(Rs2Replace, DrawsEverySampleEquallyOften) {
  Rs2Pruner pruner(ten_samples(), {.pruning_rate = 0.7}, {.replacement = true});
  constexpr int Epochs = 20'000;
  std::array<int, 10> drawn{};
  for (int epoch = 0; epoch < Epochs; ++epoch) {
    for (const SampleId id : pruner.select(epoch).ids) ++drawn.at(static_cast<std::size_t>(id));
  }
  for (const int count : drawn) {
    EXPECT_NEAR(count, Epochs * 0.3, 5 * std::sqrt(Epochs * 0.3 * 0.7));
  }
}

TEST(Rs2Replace, KeepsEveryClassesPartWhereStratified) {
  std::vector<int> labels(1000, 0);
  std::fill(labels.begin() + 700, labels.begin() + 950, 1);
  std::fill(labels.begin() + 950, labels.end(), 2);
  const auto classes = std::make_shared<const ClassIndex>(labels);
  Rs2Pruner pruner(classes, {.pruning_rate = 0.8}, {.replacement = true, .stratified = true});
  EXPECT_THAT(classes->count_by_class(pruner.select(0).ids), ElementsAre(140, 50, 10));
}

TEST(Balanced, HasThePriorOfItsCounts) {
  // 20 of sizes 90, 8, 2 and 0: class 2 whole, then 9 each, which is more than class 1 has. So 10,
  // 8 and 2 every epoch, and half a sample of 20 for the class that has none.
  std::vector<int> labels(90, 0);
  labels.insert(labels.end(), 8, 1);
  labels.insert(labels.end(), 2, 2);
  BalancedPruner pruner(std::make_shared<const ClassIndex>(labels, 4), {.pruning_rate = 0.8});
  const auto log_of = [](double part) { return testing::DoubleNear(std::log(part), 1e-14); };
  EXPECT_THAT(pruner.log_prior(),
              ElementsAre(log_of(0.9), log_of(0.08), log_of(0.02), log_of(0.005)));
  (void)pruner.select(0);
  EXPECT_THAT(pruner.log_prior(),
              ElementsAre(log_of(0.5), log_of(0.4), log_of(0.1), log_of(0.5 / 20)));
  (void)pruner.select(7);
  EXPECT_THAT(pruner.log_prior(),
              ElementsAre(log_of(0.5), log_of(0.4), log_of(0.1), log_of(0.5 / 40)));
}

TEST(Balanced, TakesEqualCountsAndSmallClassesWhole) {
  std::vector<int> labels(1000, 0);
  std::fill(labels.begin() + 700, labels.begin() + 990, 1);
  std::fill(labels.begin() + 990, labels.end(), 2);
  const auto classes = std::make_shared<const ClassIndex>(labels);
  BalancedPruner pruner(classes, {.pruning_rate = 0.9});
  const Ids first = pruner.select(0).ids;
  EXPECT_THAT(classes->count_by_class(first), ElementsAre(45, 45, 10));
  EXPECT_NE(pruner.select(1).ids, first);
}

}  // namespace
}  // namespace rcap
