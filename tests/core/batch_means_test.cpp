#include "rcap/core/batch_means.hpp"

#include <gmock/gmock.h>

#include "core/all_methods.hpp"
#include "core/expect_throw.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/pruners/top_loss_pruner.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Losses = std::vector<float>;
using Ids = std::vector<SampleId>;

TopLossPruner pruner_of_four() { return {all_of_one_class(4), {.pruning_rate = 0.5}}; }

TEST(BatchMeans, AreAveragedForEachSample) {
  auto pruner = pruner_of_four();
  pruner.observe_batch(Ids{0, 1}, 4);
  pruner.observe_batch(Ids{2, 3}, 1);
  EXPECT_THAT(pruner.select(0).ids, ElementsAre(0, 1));
  // 0.9 * 4 + 0.1 * 1 = 3.7 for sample 0; sample 1 keeps 4.
  pruner.observe_batch(Ids{0}, 1);
  pruner.observe_batch(Ids{1}, 4);
  EXPECT_THAT(pruner.select(1).ids, ElementsAre(0, 1));
  const Ids both = pruner.select(1).ids;
  for (std::int64_t epoch = 1; epoch < 40; ++epoch) {
    // Sample 0 falls towards 0: below 1, the average of the two that are never trained on, after
    // ln(3.7) / -ln(0.9) = 12.4 steps more.
    EXPECT_EQ(pruner.select(epoch).ids == both, epoch < 14) << epoch;
    if (pruner.select(epoch).ids != both) break;
    pruner.observe_batch(Ids{0}, 0);
    pruner.observe_batch(Ids{1}, 4);
  }
}

TEST(BatchMeans, TakeAnotherDecay) {
  auto pruner = pruner_of_four();
  pruner.average_batches(0);  // the last batch alone
  pruner.observe_batch(Ids{0, 1}, 4);
  pruner.observe_batch(Ids{2, 3}, 1);
  (void)pruner.select(0);
  pruner.observe_batch(Ids{0, 1}, 0.5);
  EXPECT_THAT(pruner.select(1).ids, ElementsAre(2, 3));
}

TEST(BatchMeans, AreOneKindOfLossForAWholeRun) {
  auto pruner = pruner_of_four();
  pruner.observe(Ids{0}, Losses{1});
  EXPECT_THAT(message_of<InvalidArgument>([&] {
                pruner.observe_batch(Ids{1, 2}, 1);
              }),
              HasSubstr("losses of single samples were observed before"));
  EXPECT_THAT(message_of<InvalidArgument>([] { pruner_of_four().average_batches(1); }),
              HasSubstr("decay is 1; it must satisfy 0 <= decay < 1"));
  auto other = pruner_of_four();
  other.average_batches();
  EXPECT_THAT(message_of<InvalidArgument>([&] { other.average_batches(0.5); }),
              HasSubstr("losses of batches were observed before"));
}

TEST(BatchMeans, AreNotTurnedOnByABatchThatIsRefused) {
  auto pruner = pruner_of_four();
  EXPECT_THAT(message_of<InvalidArgument>([&] {
                pruner.observe_batch(Ids{0, 4}, 1);
              }),
              HasSubstr("id 4 does not exist"));
  EXPECT_THAT(message_of<InvalidArgument>([&] {
                pruner.observe_batch(Ids{0, 1}, -1);
              }),
              HasSubstr("the loss of sample 0 is -1"));
  pruner.observe(Ids{0, 1, 2, 3}, Losses{1, 2, 3, 4});
  EXPECT_THAT(pruner.select(0).ids, ElementsAre(2, 3));
}

TEST(BatchMeans, AreStateAndComeAndGoWithIt) {
  auto averaging = pruner_of_four();
  averaging.average_batches(0.5);
  averaging.observe_batch(Ids{0, 1}, 4);
  averaging.observe_batch(Ids{2, 3}, 1);
  auto plain = pruner_of_four();
  plain.observe(Ids{0, 1, 2, 3}, Losses{1, 2, 3, 4});
  const auto of_plain = plain.state();
  plain.set_state(averaging.state());
  EXPECT_EQ(plain.state(), averaging.state());
  (void)plain.select(0);
  plain.observe_batch(Ids{0, 1}, 0);  // 2 for both
  EXPECT_THAT(plain.select(1).ids, ElementsAre(0, 1));
  plain.set_state(of_plain);
  EXPECT_EQ(plain.state(), of_plain);
}

TEST(BatchMeans, StayAsTheyWereIfAStateIsRefused) {
  auto pruner = pruner_of_four();
  pruner.observe_batch(Ids{0, 1}, 4);
  const auto before = pruner.state();
  auto plain = pruner_of_four();
  plain.observe(Ids{0}, Losses{1});
  std::vector<std::byte> longer = plain.state();
  longer.push_back(std::byte{0});
  EXPECT_THROW(pruner.set_state(longer), BadFile);
  EXPECT_EQ(pruner.state(), before);
}

TEST(BatchMeans, FeedEveryMethodThatLearns) {
  const auto classes = small_data_set(300);
  for (const Variant& variant : all_variants()) {
    const auto pruner = make_variant(variant, classes);
    if (!pruner->learns()) continue;
    Ids all(300);
    std::iota(all.begin(), all.end(), 0);
    if (pruner->needs_initial_losses()) pruner->observe_batch(all, 2);
    for (std::int64_t epoch = 0; epoch < 4; ++epoch) {
      const Ids ids = pruner->select(epoch).ids;
      for (std::size_t first = 0; first < ids.size(); first += 10) {
        const auto batch =
            std::span(ids).subspan(first, std::min<std::size_t>(10, ids.size() - first));
        pruner->observe_batch(batch, loss_of(batch[0], epoch));
      }
      EXPECT_EQ(pruner->pending_count(), 0) << variant.name;
    }
  }
}

}  // namespace
}  // namespace rcap
