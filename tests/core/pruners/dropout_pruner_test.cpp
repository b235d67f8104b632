#include "rcap/core/pruners/dropout_pruner.hpp"

#include <gmock/gmock.h>

#include "core/all_methods.hpp"
#include "core/expect_throw.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using Losses = std::vector<float>;
using Ids = std::vector<SampleId>;

DropoutPruner pruner_of(std::size_t samples, const DropoutOptions& options) {
  return {all_of_one_class(samples), {.pruning_rate = 0.5}, options};
}

TEST(DropoutPruner, DropsSamplesThatTheNetworkIsSureOf) {
  auto pruner = pruner_of(5, {.epochs = 4});
  EXPECT_THAT(pruner.select(0).ids, SizeIs(5));
  // -ln 0.3 = 1.20397: sample 1 lies just above it.
  pruner.observe(Ids{0, 1, 2, 3, 4}, Losses{1.2F, 1.205F, 3, 0, 1});
  EXPECT_THAT(pruner.select(1).ids, ElementsAre(1, 2));
  EXPECT_THAT(pruner.select(1).refresh_ids, ElementsAre(0, 3, 4));
  pruner.observe(Ids{1, 2}, Losses{0.5F, 2});
  pruner.observe_refreshed(Ids{0, 3, 4}, Losses{1, 1.5F, 1});
  EXPECT_THAT(pruner.select(2).ids, ElementsAre(2, 3));
  EXPECT_THAT(pruner.select(3).ids, SizeIs(5)) << "the last epoch has all";
}

TEST(DropoutPruner, KeepsTheHardestWhereTheNetworkIsSureOfAll) {
  auto pruner = pruner_of(3, {.epochs = 4});
  (void)pruner.select(0);
  pruner.observe(Ids{0, 1, 2}, Losses{0.1F, 0.3F, 0.2F});
  EXPECT_THAT(pruner.select(1).ids, ElementsAre(1));
}

TEST(DropoutPruner, ShrinksBySchedule) {
  // 1000, 950, 902.5, 857.4, 814.5, then all.
  auto pruner = pruner_of(1000, {.rule = DropoutRule::Srd, .epochs = 6});
  std::vector<std::size_t> sizes;
  for (int epoch = 0; epoch < 6; ++epoch) sizes.push_back(pruner.select(epoch).ids.size());
  EXPECT_THAT(sizes, ElementsAre(1000, 950, 903, 858, 815, 1000));
  // In batches of 100: 10 + 10 + 10 + 9 + 9 + 10.
  EXPECT_EQ(pruner.planned_batches(6, 100), 58);
  EXPECT_EQ(pruner_of(10, {.epochs = 6}).planned_batches(6, 100), std::nullopt);
}

TEST(DropoutPruner, DrawsAsManyAsItWouldKeep) {
  auto pruner = pruner_of(100, {.rule = DropoutRule::Smrd, .epochs = 9});
  const Ids all = pruner.select(0).ids;
  Losses losses(100, 0.1F);
  for (std::size_t i = 0; i < 30; ++i) losses[i] = 2;
  pruner.observe(all, losses);
  const Ids drawn = pruner.select(1).ids;
  EXPECT_THAT(drawn, SizeIs(30));
  EXPECT_NE(drawn.back(), 29) << "the hard ones themselves: a chance of 1 in 10^25";
}

TEST(DropoutPruner, RefusesOptionsOutOfRange) {
  const auto refusal = [](const DropoutOptions& options) {
    return message_of<InvalidArgument>([&] { (void)pruner_of(3, options); });
  };
  EXPECT_THAT(refusal({}), HasSubstr("epochs"));
  EXPECT_THAT(refusal({.epochs = 5, .confidence = 1.5}), HasSubstr("confidence is 1.5"));
  EXPECT_THAT(refusal({.rule = DropoutRule::Srd, .epochs = 5, .decay = 0}),
              HasSubstr("decay is 0"));
}

}  // namespace
}  // namespace rcap
