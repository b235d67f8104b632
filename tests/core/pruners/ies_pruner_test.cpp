#include "rcap/core/pruners/ies_pruner.hpp"

#include <gmock/gmock.h>

#include "core/all_methods.hpp"
#include "core/expect_throw.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Losses = std::vector<float>;
using Ids = std::vector<SampleId>;

/// Trains and refreshes three samples for one epoch.
const Selection& step(IesPruner& pruner, std::int64_t epoch, const Losses& losses) {
  const Selection selection = pruner.select(epoch);
  const auto of = [&](const Ids& ids) {
    Losses chosen;
    for (const SampleId id : ids) chosen.push_back(losses[static_cast<std::size_t>(id)]);
    return chosen;
  };
  pruner.observe(selection.ids, of(selection.ids));
  if (pruner.refreshes()) {
    pruner.observe_refreshed(selection.refresh_ids, of(selection.refresh_ids));
  }
  return pruner.select(epoch + 1);
}

TEST(IesPruner, LeavesASampleOutWhileItsCurveIsStraight) {
  IesPruner pruner(all_of_one_class(3), {}, {.threshold = 0.1});
  // Sample 0 falls by 0.2 each time: straight. Sample 1 zigzags. Sample 2 falls by half, so that
  // the second differences of its last five losses are 1/4, 1/8, 1/16 of 2: on average 0.29.
  const std::vector<Losses> losses{{2.0F, 1, 2},       {1.8F, 2, 1},      {1.6F, 1, 0.5F},
                                   {1.4F, 2, 0.25F},   {1.2F, 1, 0.125F}, {1.0F, 2, 0.0625F},
                                   {0.8F, 1, 0.03125F}};
  for (std::int64_t epoch = 0; epoch < 5; ++epoch) {
    EXPECT_THAT(step(pruner, epoch, losses[static_cast<std::size_t>(epoch)]).ids,
                ElementsAre(0, 1, 2))
        << "six losses are needed, epoch " << epoch;
  }
  // Sample 2 now: 1, 1/2, 1/4, 1/8, 1/16: second differences 1/4, 1/8, 1/16, on average 0.146.
  EXPECT_THAT(step(pruner, 5, losses[5]).ids, ElementsAre(1, 2));
  EXPECT_THAT(pruner.select(6).refresh_ids, ElementsAre(0));
  // 1/8, 1/16, 1/32 on average 0.073, below 0.1.
  EXPECT_THAT(step(pruner, 6, losses[6]).ids, ElementsAre(1));
  // Sample 0 is forgotten: 1.2, 1.0, 0.8, 3: bends by 2.4.
  EXPECT_THAT(step(pruner, 7, {3, 2, 0.0156F}).ids, ElementsAre(0, 1));
}

TEST(IesPruner, GetsNobodyBackWithoutAForwardPass) {
  IesPruner pruner(all_of_one_class(2), {}, {.threshold = 0.1, .refresh = false});
  for (std::int64_t epoch = 0; epoch < 12; ++epoch) {
    (void)step(pruner, epoch, {1, epoch % 2 == 0 ? 1.0F : 2.0F});
  }
  EXPECT_THAT(pruner.select(12).ids, ElementsAre(1));
  EXPECT_THAT(pruner.select(12).refresh_ids, IsEmpty());
}

TEST(IesPruner, KeepsTheHardestWhereAllIsMastered) {
  IesPruner pruner(all_of_one_class(3), {}, {.threshold = 0.1});
  for (std::int64_t epoch = 0; epoch < 6; ++epoch) (void)step(pruner, epoch, {1, 3, 2});
  EXPECT_THAT(pruner.select(6).ids, ElementsAre(1));
}

TEST(IesPruner, RefusesAThresholdOfZero) {
  EXPECT_THAT(message_of<InvalidArgument>(
                  [] { (void)IesPruner(all_of_one_class(3), {}, {.threshold = 0}); }),
              HasSubstr("threshold is 0"));
}

}  // namespace
}  // namespace rcap
