#include "rcap/core/pruners/seta_pruner.hpp"

#include <numeric>

#include <gmock/gmock.h>

#include "core/all_methods.hpp"
#include "core/expect_throw.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using Losses = std::vector<float>;
using Ids = std::vector<SampleId>;

Ids ids_up_to(std::int64_t count) {
  Ids ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

TEST(SetaPruner, SlidesAWindowOfWholeGroupsFromEasyToHard) {
  // Groups of k-means: 0, 1 | 10, 11, 12 | 20 | 30, 31. Windows of half of them start at group
  // epoch mod 3.
  SetaPruner pruner(all_of_one_class(8), {},
                    {.epochs = 100, .budget = false, .groups = 4, .window = 0.5});
  const Losses losses{10, 30, 0, 20, 11, 1, 31, 12};
  EXPECT_EQ(pruner.select(0).ids, ids_up_to(8));
  pruner.observe(ids_up_to(8), losses);
  EXPECT_THAT(pruner.select(1).ids, ElementsAre(0, 3, 4, 7));     // 10, 20, 11, 12
  EXPECT_THAT(pruner.select(2).ids, ElementsAre(1, 3, 6));        // 30, 20, 31
  EXPECT_THAT(pruner.select(3).ids, ElementsAre(0, 2, 4, 5, 7));  // 10, 0, 11, 1, 12
}

TEST(SetaPruner, SlidesAWindowOfTheBudget) {
  // 4 of 10 samples, 5 groups: a window is two groups wide and has starts 0 to 3, at places 0, 2, 4
  // and 6. The loss of sample i is i.
  SetaPruner pruner(all_of_one_class(10), {.pruning_rate = 0.6}, {.epochs = 100, .groups = 5});
  EXPECT_THAT(pruner.select(0).ids, SizeIs(4));
  const Ids first = pruner.select(0).ids;
  pruner.observe(first, Losses(4, 1));
  // Learns all losses over time: those of each epoch are its ids.
  for (std::int64_t epoch = 1; epoch < 60; ++epoch) {
    const Ids ids = pruner.select(epoch).ids;
    EXPECT_THAT(ids, SizeIs(4));
    pruner.observe(ids, Losses(ids.begin(), ids.end()));
  }
  EXPECT_THAT(pruner.select(60).ids, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(pruner.select(61).ids, ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(pruner.select(62).ids, ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(pruner.select(63).ids, ElementsAre(6, 7, 8, 9));
}

TEST(SetaPruner, DrawsFromAllOnceItStopsSliding) {
  // 0.875 of 8 epochs: epochs 1 to 6 slide, 7 is random.
  SetaPruner pruner(all_of_one_class(1000), {}, {.epochs = 8, .groups = 2});
  (void)pruner.select(0);
  pruner.observe(pruner.select(0).ids, Losses(100, 0));
  Ids last;
  for (std::int64_t epoch = 1; epoch < 8; ++epoch) last = pruner.select(epoch).ids;
  // Only the hundred that were seen have loss 0; a window that slid would have all or none of them.
  SetaPruner same(all_of_one_class(1000), {}, {.epochs = 8, .groups = 2});
  const Ids seen = same.select(0).ids;
  Ids both;
  std::ranges::set_intersection(last, seen, std::back_inserter(both));
  EXPECT_GT(both.size(), 0u);
  EXPECT_LT(both.size(), 50u);
}

TEST(SetaPruner, TellsItsBatchesInAdvanceIfItHasABudget) {
  EXPECT_EQ(SetaPruner(all_of_one_class(1000), {}, {.epochs = 8}).planned_batches(8, 64), 16);
  EXPECT_EQ(
      SetaPruner(all_of_one_class(1000), {}, {.epochs = 8, .budget = false}).planned_batches(8, 64),
      std::nullopt);
}

TEST(SetaPruner, SplitsEqualLossesIntoEqualGroups) {
  SetaPruner pruner(all_of_one_class(100), {}, {.epochs = 100, .budget = false});
  (void)pruner.select(0);
  pruner.observe(ids_up_to(100), Losses(100, 1));
  EXPECT_THAT(pruner.select(1).ids, SizeIs(50));
}

TEST(SetaPruner, RefusesOptionsOutOfRange) {
  const auto refusal = [](const SetaOptions& options) {
    return message_of<InvalidArgument>([&] { (void)SetaPruner(all_of_one_class(3), {}, options); });
  };
  EXPECT_THAT(refusal({}), HasSubstr("epochs"));
  EXPECT_THAT(refusal({.epochs = 5, .groups = 0}), HasSubstr("groups is 0"));
  EXPECT_THAT(refusal({.epochs = 5, .budget = false, .window = 0}), HasSubstr("window is 0"));
  EXPECT_THAT(refusal({.epochs = 5, .random_pruning = 1}), HasSubstr("random_pruning is 1"));
}

}  // namespace
}  // namespace rcap
