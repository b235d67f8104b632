#include "rcap/core/pruners/kakurenbo_pruner.hpp"

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

KakurenboPruner pruner_of_ten(const KakurenboOptions& options) {
  return {all_of_one_class(10), {.pruning_rate = 0.5}, options};
}

const Ids AllTen{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

TEST(KakurenboPruner, HidesTheLowestLossesThatTheNetworkIsSureOf) {
  auto pruner = pruner_of_ten({.epochs = 100, .hidden = 0.3});
  EXPECT_EQ(pruner.select(0).ids, AllTen);
  EXPECT_EQ(pruner.select(0).rate_factor, 1);
  // -ln 0.7 = 0.3567: five are sure, of which the three lowest may be hidden.
  pruner.observe(AllTen, Losses{2, 0.30F, 0.1F, 0.35F, 1, 0.36F, 0.2F, 3, 0.05F, 0.4F});
  EXPECT_THAT(pruner.select(1).ids, ElementsAre(0, 1, 3, 4, 5, 7, 9));
  EXPECT_THAT(pruner.select(1).refresh_ids, ElementsAre(2, 6, 8));
  EXPECT_DOUBLE_EQ(pruner.select(1).rate_factor, 1 / 0.7);
  // Two of the hidden ones are forgotten; of the rest only 3 is sure.
  pruner.observe(Ids{0, 1, 3, 4, 5, 7, 9}, Losses{2, 1, 0.1F, 1, 1, 1, 1});
  pruner.observe_refreshed(Ids{2, 6, 8}, Losses{0.9F, 0.2F, 0.4F});
  EXPECT_THAT(pruner.select(2).refresh_ids, ElementsAre(3, 6));
}

TEST(KakurenboPruner, HidesFewerAsTheRunGoesOn) {
  const auto pruner = pruner_of_ten({.epochs = 100, .hidden = 0.5});
  const auto part = [&](std::int64_t epoch) { return pruner.hidden_part(epoch); };
  EXPECT_EQ(
      (std::array{part(0), part(29), part(30), part(59), part(60), part(79), part(80), part(99)}),
      (std::array{0.5, 0.5, 0.4, 0.4, 0.3, 0.3, 0.2, 0.2}));
}

TEST(KakurenboPruner, KeepsStaleLossesWithoutAForwardPass) {
  auto pruner = pruner_of_ten({.epochs = 10, .hidden = 0.2, .refresh = false});
  (void)pruner.select(0);
  pruner.observe(AllTen, Losses{0, 0, 1, 1, 1, 1, 1, 1, 1, 1});
  EXPECT_THAT(pruner.select(1).ids, ElementsAre(2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_THAT(pruner.select(1).refresh_ids, IsEmpty());
  EXPECT_THAT(message_of<InvalidArgument>([&] { pruner.observe_refreshed(Ids{0}, Losses{1}); }),
              HasSubstr("kakurenbo with these options asks for no forward pass"));
  EXPECT_THAT(pruner.select(2).ids, ElementsAre(2, 3, 4, 5, 6, 7, 8, 9));
}

TEST(KakurenboPruner, RefusesRefreshedSamplesThatItDidNotAskFor) {
  auto pruner = pruner_of_ten({.epochs = 10, .hidden = 0.2});
  EXPECT_THAT(message_of<InvalidArgument>([&] { pruner.observe_refreshed(Ids{0}, Losses{1}); }),
              HasSubstr("nothing is selected yet"));
  (void)pruner.select(0);
  pruner.observe(AllTen, Losses{0, 0, 1, 1, 1, 1, 1, 1, 1, 1});
  (void)pruner.select(1);
  const auto refusal = [&](Ids ids, Losses losses) {
    return message_of<InvalidArgument>([&] { pruner.observe_refreshed(ids, losses); });
  };
  EXPECT_THAT(refusal({0, 2}, {1, 1}), HasSubstr("sample 2 is not one to refresh in epoch 1"));
  EXPECT_THAT(refusal({0, 0}, {1, 1}), HasSubstr("sample 0 is not one to refresh"));
  EXPECT_THAT(refusal({0}, {-1}), HasSubstr("the loss of sample 0 is -1"));
  EXPECT_THAT(refusal({0}, {1, 1}), HasSubstr("2 losses for 1 ids"));
  EXPECT_THAT(refusal({10}, {1}), HasSubstr("id 10 does not exist"));
  EXPECT_THAT(pruner.unrefreshed_ids(), ElementsAre(0, 1));
  pruner.observe_refreshed(Ids{1}, Losses{1});
  EXPECT_THAT(pruner.unrefreshed_ids(), ElementsAre(0));
}

TEST(KakurenboPruner, RemembersWhatIsStillToRefresh) {
  auto pruner = pruner_of_ten({.epochs = 10, .hidden = 0.2});
  (void)pruner.select(0);
  pruner.observe(AllTen, Losses{0, 0, 1, 1, 1, 1, 1, 1, 1, 1});
  const Selection selection = pruner.select(1);
  pruner.observe_refreshed(Ids{1}, Losses{1});
  auto resumed = pruner_of_ten({.epochs = 10, .hidden = 0.2});
  resumed.set_state(pruner.state());
  EXPECT_THAT(resumed.unrefreshed_ids(), ElementsAre(0));
  EXPECT_TRUE(resumed.select(1) == selection);
}

TEST(KakurenboPruner, RefusesOptionsOutOfRange) {
  const auto refusal = [](const KakurenboOptions& options) {
    return message_of<InvalidArgument>([&] { (void)pruner_of_ten(options); });
  };
  EXPECT_THAT(refusal({}), HasSubstr("epochs"));
  EXPECT_THAT(refusal({.epochs = 5, .hidden = 1}), HasSubstr("hidden is 1"));
  EXPECT_THAT(refusal({.epochs = 5, .confidence = 0}), HasSubstr("confidence is 0"));
}

}  // namespace
}  // namespace rcap
