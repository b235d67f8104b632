// What every method promises, run over all of them.

#include <algorithm>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include "base/formatted.hpp"
#include "core/all_methods.hpp"
#include "core/expect_throw.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/filter.hpp"
#include "rcap/core/training_order.hpp"

namespace rcap {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pointwise;

constexpr int SomeEpochs = 9;
constexpr double Nan = std::numeric_limits<double>::quiet_NaN();
constexpr double Infinity = std::numeric_limits<double>::infinity();

/// ln of each class's part of the weights of `selections`; half a sample where there is none.
std::vector<double> prior_of(const ClassIndex& classes, const std::vector<Selection>& selections) {
  std::vector<double> sums(static_cast<std::size_t>(classes.class_count()));
  double total = 0;
  for (const Selection& selection : selections) {
    for (std::size_t i = 0; i < selection.ids.size(); ++i) {
      const double weight = selection.weights.empty() ? 1 : selection.weights[i];
      sums[static_cast<std::size_t>(classes.class_of(selection.ids[i]))] += weight;
      total += weight;
    }
  }
  for (double& sum : sums) sum = std::log((sum > 0 ? sum : 0.5) / total);
  return sums;
}

class EveryMethod : public testing::TestWithParam<Variant> {
 protected:
  [[nodiscard]] std::unique_ptr<Pruner> make(int threads = 1, std::uint64_t seed = 27) const {
    return make_variant(GetParam(), classes_, threads, seed);
  }
  /// One that has been through some epochs.
  [[nodiscard]] std::unique_ptr<Pruner> make_trained(std::int64_t epochs) const {
    auto pruner = make();
    observe_initial_losses(*pruner);
    run_epochs(*pruner, 0, epochs);
    return pruner;
  }

  std::shared_ptr<const ClassIndex> classes_ = small_data_set();
};

INSTANTIATE_TEST_SUITE_P(, EveryMethod, testing::ValuesIn(all_variants()),
                         [](const auto& test) { return test.param.name; });

TEST_P(EveryMethod, HasAFilterThatKeepsWhatItSelects) {
  const auto pruner = make_trained(2);
  for (std::int64_t epoch = 2; epoch < 5; ++epoch) {
    const Selection& selection = pruner->select(epoch);
    const Filter filter(selection, classes_->sample_count());
    EXPECT_EQ(filter.epoch(), epoch);
    EXPECT_EQ(filter.ids(), selection.ids);
    std::vector<float> weights(selection.ids.size());
    filter.weigh(selection.ids, weights);
    const std::vector<float> ones(selection.ids.size(), 1.0F);
    EXPECT_EQ(weights, selection.weights.empty() ? ones : selection.weights);
  }
}

TEST_P(EveryMethod, SelectsDistinctSamplesInAscendingOrder) {
  const auto pruner = make();
  observe_initial_losses(*pruner);
  for (const Selection& selection : run_epochs(*pruner, 0, SomeEpochs)) {
    EXPECT_TRUE(std::ranges::is_sorted(selection.ids, std::ranges::less_equal{}) ||
                selection.ids.size() < 2);
    EXPECT_EQ(std::ranges::adjacent_find(selection.ids), selection.ids.end());
    for (const SampleId id : selection.ids) {
      ASSERT_GE(id, 0);
      ASSERT_LT(id, classes_->sample_count());
    }
  }
}

TEST_P(EveryMethod, KeepsExactlyItsBudgetWhenItPrunes) {
  const auto pruner = make();
  observe_initial_losses(*pruner);
  for (const Selection& selection : run_epochs(*pruner, 0, SomeEpochs)) {
    const MethodInfo& method = require_method(GetParam().method);
    if (method.budget(options_of(GetParam(), *classes_)) != Budget::EveryEpoch) continue;
    const bool warms_up = method.first_pass({}) == FirstPass::Training;
    const std::int64_t expected =
        warms_up && selection.epoch == 0 ? classes_->sample_count() : pruner->keep_count();
    EXPECT_EQ(static_cast<std::int64_t>(selection.ids.size()), expected) << selection.epoch;
  }
}

TEST_P(EveryMethod, GivesOnePositiveWeightPerSampleOrNone) {
  const auto pruner = make();
  observe_initial_losses(*pruner);
  for (const Selection& selection : run_epochs(*pruner, 0, SomeEpochs)) {
    if (selection.weights.empty()) continue;
    EXPECT_EQ(selection.weights.size(), selection.ids.size());
    EXPECT_THAT(selection.weights, testing::Each(testing::Gt(0)));
  }
}

TEST_P(EveryMethod, SelectsTheSameWithAnyNumberOfThreads) {
  const auto expected = make(1);
  observe_initial_losses(*expected);
  const auto selections = run_epochs(*expected, 0, SomeEpochs);
  for (const int threads : {2, 7}) {
    const auto pruner = make(threads);
    observe_initial_losses(*pruner);
    EXPECT_TRUE(run_epochs(*pruner, 0, SomeEpochs) == selections) << threads;
  }
}

TEST_P(EveryMethod, SelectsTheSameWhateverTheOrderOfObserving) {
  const auto in_one = make();
  const auto in_parts = make();
  observe_initial_losses(*in_one);
  observe_initial_losses(*in_parts);
  for (int epoch = 0; epoch < SomeEpochs; ++epoch) {
    const Selection selection = in_one->select(epoch);
    ASSERT_TRUE(in_parts->select(epoch) == selection) << epoch;
    in_one->observe(selection.ids, losses_of(selection.ids, epoch));
    const auto order = training_order(selection.ids, 99, epoch);
    for (std::size_t first = 0; first < order.size(); first += 7) {
      const auto part =
          std::span(order).subspan(first, std::min<std::size_t>(7, order.size() - first));
      const auto losses = losses_of(part, epoch);
      in_parts->observe(part, std::vector<double>(losses.begin(), losses.end()));
    }
    EXPECT_EQ(in_parts->pending_count(), 0);
  }
}

TEST_P(EveryMethod, GivesTheSameSelectionAgainInMidEpoch) {
  const auto pruner = make();
  observe_initial_losses(*pruner);
  run_epochs(*pruner, 0, 4);
  const Selection selection = pruner->select(4);
  const auto half = std::span(selection.ids).first(selection.ids.size() / 2);
  pruner->observe(half, losses_of(half, 4));
  EXPECT_TRUE(pruner->select(4) == selection);
  EXPECT_EQ(pruner->selected_count(), static_cast<std::int64_t>(selection.ids.size()));
}

TEST_P(EveryMethod, DrawsAnewForAnotherSeedWhereItDraws) {
  const auto one = make(1, 27);
  const auto other = make(1, 28);
  observe_initial_losses(*one);
  observe_initial_losses(*other);
  EXPECT_EQ(run_epochs(*one, 0, SomeEpochs) != run_epochs(*other, 0, SomeEpochs),
            require_method(GetParam().method).is_random(options_of(GetParam(), *classes_)));
}

TEST_P(EveryMethod, RefusesBadObservationsAndStaysAsItWas) {
  const auto pruner = make();
  const auto undisturbed = make();
  observe_initial_losses(*pruner);
  observe_initial_losses(*undisturbed);
  run_epochs(*pruner, 0, 2);
  run_epochs(*undisturbed, 0, 2);
  const Selection selection = pruner->select(2);
  (void)undisturbed->select(2);
  const SampleId a = selection.ids[0];
  const SampleId b = selection.ids[1];
  const auto refusal = [&](std::vector<SampleId> ids, std::vector<double> losses) {
    return message_of<InvalidArgument>([&] { pruner->observe(ids, losses); });
  };
  if (pruner->learns()) {
    EXPECT_THAT(refusal({a, b}, {1, Nan}), HasSubstr(formatted("the loss of sample {} is nan", b)));
    EXPECT_THAT(refusal({a, b}, {1, Infinity}), HasSubstr(formatted("sample {} is inf", b)));
    EXPECT_THAT(refusal({a, b}, {1, -0.5}), HasSubstr(formatted("sample {} is -0.5", b)));
    EXPECT_THAT(refusal({a, b}, {1, -2e-6}), HasSubstr(formatted("sample {} is -2e-06", b)));
    EXPECT_THAT(refusal({a, b}, {Nan, -1}),
                HasSubstr(formatted("the loss of sample {} is nan, that of sample {} is -1; losses "
                                    "must be finite and >= 0; nothing was recorded",
                                    a, b)));
    EXPECT_THAT(refusal(std::vector<SampleId>(10, a), std::vector<double>(10, Nan)),
                HasSubstr(formatted("that of sample {} is nan, and 2 more; losses", a)));
  }
  EXPECT_THAT(refusal({a, 2000}, {1, 1}),
              HasSubstr("id 2000 does not exist; ids lie between 0 and 1999"));
  EXPECT_THAT(refusal({a, -1}, {1, 1}), HasSubstr("id -1 does not exist"));
  EXPECT_THAT(refusal({a, b, a}, {1, 1, 1}),
              HasSubstr(formatted("id {} appears twice in one call", a)));
  EXPECT_THAT(refusal({a, b}, {1}), HasSubstr("1 losses for 2 ids"));
  if (selection.ids.size() < 2000) {
    SampleId outside = 0;
    while (std::ranges::binary_search(selection.ids, outside)) ++outside;
    EXPECT_THAT(refusal({a, outside}, {1, 1}),
                HasSubstr(formatted("sample {} is not in the selection of epoch 2", outside)));
  }
  std::vector<float> losses = losses_of(selection.ids, 2);
  losses[0] = -0.0F;  // is 0
  pruner->observe(selection.ids, losses);
  EXPECT_THAT(refusal({a}, {1}), HasSubstr("was observed before in this epoch"));
  losses[0] = 0;
  undisturbed->observe(selection.ids, losses);
  EXPECT_TRUE(run_epochs(*pruner, 3, 6) == run_epochs(*undisturbed, 3, 6));
}

TEST_P(EveryMethod, HasThePriorOfAllThatWasSelected) {
  const auto pruner = make();
  observe_initial_losses(*pruner);
  std::vector<Selection> selections;
  for (int epoch = 0; epoch < SomeEpochs; ++epoch) {
    selections.push_back(run_epochs(*pruner, epoch, epoch + 1).front());
    EXPECT_THAT(pruner->log_prior(),
                Pointwise(testing::DoubleNear(1e-12), prior_of(*classes_, selections)))
        << epoch;
  }
}

TEST_P(EveryMethod, HasThePriorOfTheDataSetBeforeTheFirstSelection) {
  const auto pruner = make();
  std::vector<double> expected;
  for (const std::int64_t size : classes_->class_sizes()) {
    expected.push_back(std::log(static_cast<double>(size) / 2000));
  }
  EXPECT_THAT(pruner->log_prior(), Pointwise(testing::DoubleNear(1e-12), expected));
}

TEST_P(EveryMethod, CountsAnEpochOnceInItsPrior) {
  const auto pruner = make_trained(2);
  const std::vector<SampleId> ids = pruner->select(2).ids;
  const auto prior = pruner->log_prior();
  (void)pruner->select(2);
  pruner->observe(ids, losses_of(ids, 2));
  (void)pruner->select(2);
  EXPECT_EQ(pruner->log_prior(), prior);
  const auto resumed = make();
  resumed->set_state(pruner->state());
  EXPECT_EQ(resumed->log_prior(), prior);
  (void)resumed->select(2);
  EXPECT_EQ(resumed->log_prior(), prior);
  run_epochs(*pruner, 3, 5);
  run_epochs(*resumed, 3, 5);
  EXPECT_EQ(resumed->log_prior(), pruner->log_prior());
}

TEST_P(EveryMethod, HasTheSamePriorForAnyNumberOfThreads) {
  const auto prior_with = [&](int threads) {
    const auto pruner = make(threads);
    observe_initial_losses(*pruner);
    run_epochs(*pruner, 0, 4);
    return pruner->log_prior();
  };
  EXPECT_EQ(prior_with(1), prior_with(3));
}

TEST_P(EveryMethod, TellsOfItselfWhatItsRowDoes) {
  const MethodInfo& method = require_method(GetParam().method);
  const PrunerOptions options = options_of(GetParam(), *classes_);
  EXPECT_EQ(make()->learns(), method.learns(options));
  EXPECT_EQ(make()->refreshes(), method.refreshes(options));
  const bool late = method.budget(options) == Budget::WholeRun && options.infobatch.batch_size;
  EXPECT_EQ(make()->follows_rate(), late || method.budget(options) == Budget::EveryEpoch);
}

TEST_P(EveryMethod, TakesAnyNumbersForLossesWhereItDoesNotLearn) {
  const auto pruner = make();
  if (pruner->learns()) GTEST_SKIP() << "it learns";
  const std::vector<SampleId> ids = pruner->select(0).ids;
  const auto half = std::span(ids).first(ids.size() / 2);
  pruner->observe(half, std::vector<double>(half.size(), Nan));
  pruner->observe(std::span(ids).subspan(half.size()),
                  std::vector<float>(ids.size() - half.size(), -1.0F));
  EXPECT_EQ(pruner->pending_count(), 0);
  pruner->observe_late(half, std::vector<double>(half.size(), -Infinity));
  EXPECT_EQ(pruner->select(1).ids, make()->select(1).ids);
}

TEST_P(EveryMethod, TakesLossesThatRoundingPutsBelowZeroForZero) {
  const auto rounded = make_trained(2);
  const auto exact = make_trained(2);
  const Selection selection = rounded->select(2);
  (void)exact->select(2);
  std::vector<float> losses = losses_of(selection.ids, 2);
  std::vector<float> exact_losses = losses;
  for (std::size_t i = 0; i < losses.size(); i += 3) {
    losses[i] = i % 2 == 0 ? -1e-6F : -0.0F;
    exact_losses[i] = 0;
  }
  exact->observe(selection.ids, exact_losses);
  rounded->observe(selection.ids, losses);
  EXPECT_EQ(rounded->state(), exact->state());
  (void)exact->select(3);
  (void)rounded->select(3);
  exact->observe_late(selection.ids, exact_losses);
  rounded->observe_late(selection.ids, std::vector<double>(losses.begin(), losses.end()));
  EXPECT_EQ(rounded->state(), exact->state());
}

TEST_P(EveryMethod, TakesLateLossesWithoutAskingForFewer) {
  const auto in_one = make_trained(2);
  const auto in_parts = make_trained(2);
  const std::vector<SampleId> earlier = in_one->select(2).ids;
  (void)in_parts->select(2);
  const auto in_time = std::span(earlier).first(earlier.size() / 3);
  const auto late = std::span(earlier).subspan(in_time.size());
  for (Pruner* pruner : {in_one.get(), in_parts.get()}) {
    pruner->observe(in_time, losses_of(in_time, 2));
    (void)pruner->select(3);
  }
  const std::vector<SampleId> pending = in_one->pending_ids();
  const auto before = in_one->state();
  in_one->observe_late(late, losses_of(late, 2));
  EXPECT_EQ(in_one->pending_ids(), pending);
  EXPECT_EQ(in_one->state() != before, in_one->learns());
  // The last first, in pieces and in double precision.
  for (std::size_t end = late.size(); end > 0;) {
    const std::size_t begin = end > 7 ? end - 7 : 0;
    const auto part = late.subspan(begin, end - begin);
    const auto losses = losses_of(part, 2);
    in_parts->observe_late(part, std::vector<double>(losses.begin(), losses.end()));
    end = begin;
  }
  EXPECT_EQ(in_parts->state(), in_one->state());
  const auto resumed = make();
  resumed->set_state(in_one->state());
  in_one->observe(pending, losses_of(pending, 3));
  resumed->observe(pending, losses_of(pending, 3));
  EXPECT_TRUE(run_epochs(*resumed, 4, 7) == run_epochs(*in_one, 4, 7));
}

TEST_P(EveryMethod, IgnoresALateLossWhereANewerOneIsKnown) {
  const auto pruner = make_trained(3);
  const std::vector<SampleId> ids = pruner->select(3).ids;
  pruner->observe(ids, losses_of(ids, 3));
  const auto before = pruner->state();
  pruner->observe_late(ids, losses_of(ids, 2));
  EXPECT_EQ(pruner->state(), before);
}

TEST_P(EveryMethod, RefusesBadLateLossesAndStaysAsItWas) {
  const auto unused = make();
  EXPECT_THAT(message_of<InvalidArgument>(
                  [&] { unused->observe_late(std::vector<SampleId>{0}, std::vector<float>{1}); }),
              HasSubstr("observe_late: nothing is selected yet"));
  const auto pruner = make_trained(2);
  (void)pruner->select(2);
  const auto before = pruner->state();
  const auto refusal = [&](std::vector<SampleId> ids, std::vector<double> losses) {
    return message_of<InvalidArgument>([&] { pruner->observe_late(ids, losses); });
  };
  if (pruner->learns()) {
    EXPECT_THAT(refusal({3, 4}, {1, Nan}), HasSubstr("observe_late: the loss of sample 4 is nan"));
    EXPECT_THAT(refusal({3, 4}, {1, -2e-6}), HasSubstr("losses must be finite and >= 0"));
  }
  EXPECT_THAT(refusal({3, 2000}, {1, 1}),
              HasSubstr("observe_late: id 2000 does not exist; ids lie between 0 and 1999"));
  EXPECT_THAT(refusal({3, 4, 3}, {1, 1, 1}),
              HasSubstr("observe_late: id 3 appears twice in one call; give each sample once"));
  EXPECT_THAT(refusal({3, 4}, {1}), HasSubstr("observe_late: 1 losses for 2 ids"));
  EXPECT_EQ(pruner->state(), before);
}

TEST_P(EveryMethod, PassesOverSamplesAsIfTheyHadNotBeenObserved) {
  const auto passing = make_trained(2);
  const auto waiting = make_trained(2);
  for (int epoch = 2; epoch < 6; ++epoch) {
    const Selection selection = passing->select(epoch);
    ASSERT_TRUE(waiting->select(epoch) == selection) << epoch;
    const auto half = std::span(selection.ids).first(selection.ids.size() / 2);
    passing->observe(half, losses_of(half, epoch));
    waiting->observe(half, losses_of(half, epoch));
    passing->pass_over(std::span(selection.ids).subspan(half.size()));
    EXPECT_EQ(passing->pending_count(), 0);
  }
}

TEST_P(EveryMethod, PassesOverNothingThatIsNotToBeObserved) {
  const auto unused = make();
  EXPECT_THAT(message_of<InvalidArgument>([&] { unused->pass_over(std::vector<SampleId>{0}); }),
              HasSubstr("pass_over: nothing is selected yet"));
  const auto pruner = make_trained(2);
  const std::vector<SampleId> ids = pruner->select(2).ids;
  const auto refusal = [&](std::vector<SampleId> some) {
    return message_of<InvalidArgument>([&] { pruner->pass_over(some); });
  };
  EXPECT_THAT(refusal({ids[0], 2000}), HasSubstr("pass_over: id 2000 does not exist"));
  EXPECT_THAT(refusal({ids[0], ids[0]}), HasSubstr("appears twice in one call"));
  EXPECT_EQ(pruner->pending_ids(), ids);
  pruner->pass_over(std::span(ids).first(1));
  EXPECT_THAT(refusal({ids[0]}), HasSubstr("was observed before in this epoch"));
}

TEST_P(EveryMethod, RefusesEpochsThatAreNegativeOrPast) {
  const auto pruner = make();
  observe_initial_losses(*pruner);
  EXPECT_THAT(message_of<InvalidArgument>([&] { (void)pruner->select(-1); }),
              HasSubstr("epoch is -1; epochs count from 0"));
  (void)pruner->select(3);
  EXPECT_THAT(message_of<InvalidArgument>([&] { (void)pruner->select(2); }),
              HasSubstr("epoch 2 comes before epoch 3"));
}

TEST_P(EveryMethod, PlansNoBatchesForEpochsOrBatchSizesThatCannotBe) {
  const auto pruner = make();
  const auto refusal = [&](std::int64_t epochs, std::int64_t batch_size) {
    return message_of<InvalidArgument>([&] { (void)pruner->planned_batches(epochs, batch_size); });
  };
  EXPECT_THAT(refusal(-1, 8), HasSubstr("epochs is -1; it must lie between 0 and 2147483647"));
  EXPECT_THAT(refusal(std::int64_t{1} << 40, 8), HasSubstr("epochs is 1099511627776"));
  EXPECT_THAT(refusal(1, 0), HasSubstr("batch_size is 0; it must be at least 1"));
  EXPECT_THAT(refusal(1, -3), HasSubstr("batch_size is -3"));
}

TEST_P(EveryMethod, TakesObservationsOnlyWhenThereIsSomethingToObserve) {
  const auto pruner = make();
  const std::vector<SampleId> ids{0};
  const std::vector<float> losses{1};
  if (pruner->needs_initial_losses()) {
    EXPECT_THAT(message_of<InvalidArgument>([&] { (void)pruner->select(0); }),
                HasSubstr("2000 of 2000 samples have no initial loss, the first is sample 0"));
  }
  if (pruner->takes_initial_losses()) {
    pruner->observe(ids, losses);
    EXPECT_THAT(message_of<InvalidArgument>([&] { (void)pruner->select(0); }),
                HasSubstr("1999 of 2000 samples have no initial loss, the first is sample 1"));
  } else {
    EXPECT_THAT(message_of<InvalidArgument>([&] { pruner->observe(ids, losses); }),
                HasSubstr("call select first"));
  }
}

TEST_P(EveryMethod, WorksOnOneSample) {
  Variant variant = GetParam();
  const auto pruner =
      make_variant(variant, std::make_shared<const ClassIndex>(std::vector<int>{0}));
  observe_initial_losses(*pruner);
  for (const Selection& selection : run_epochs(*pruner, 0, 3)) {
    EXPECT_LE(selection.ids.size(), 1U);
  }
}

}  // namespace
}  // namespace rcap
