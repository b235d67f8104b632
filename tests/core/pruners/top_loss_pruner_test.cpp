#include "rcap/core/pruners/top_loss_pruner.hpp"

#include <vector>

#include <gmock/gmock.h>

#include "core/all_methods.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;

using Ids = std::vector<SampleId>;
using Losses = std::vector<float>;

TEST(TopLoss, TakesTheHighestLossesWhateverTheirClass) {
  // Samples 0, 2, 4, 6 are of class 0; the four highest losses are all of class 1.
  const auto classes = std::make_shared<const ClassIndex>(std::vector<int>{0, 1, 0, 1, 0, 1, 0, 1});
  TopLossPruner pruner(classes, {.pruning_rate = 0.5});
  pruner.observe(Ids{0, 1, 2, 3, 4, 5, 6, 7}, Losses{1, 5, 2, 6, 3, 7, 4, 8});
  EXPECT_THAT(pruner.select(0).ids, ElementsAre(1, 3, 5, 7));
}

TEST(TopLoss, RemembersTheLossesOfSamplesThatItLeavesOut) {
  TopLossPruner pruner(all_of_one_class(4), {.pruning_rate = 0.5});
  pruner.observe(Ids{0, 1, 2, 3}, Losses{4, 3, 2, 1});
  EXPECT_THAT(pruner.select(0).ids, ElementsAre(0, 1));
  // Sample 0 is learnt: 2 comes back with the loss it had before training.
  pruner.observe(Ids{0, 1}, Losses{0.5, 3});
  EXPECT_THAT(pruner.select(1).ids, ElementsAre(1, 2));
}

TEST(TopLoss, PrefersLowerIdsAmongEqualLosses) {
  TopLossPruner pruner(all_of_one_class(4), {.pruning_rate = 0.5});
  pruner.observe(Ids{0, 1, 2, 3}, Losses{1, 2, 1, 1});
  EXPECT_THAT(pruner.select(0).ids, ElementsAre(0, 1));
}

}  // namespace
}  // namespace rcap
