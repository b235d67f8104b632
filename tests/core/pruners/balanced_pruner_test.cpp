#include "rcap/core/pruners/balanced_pruner.hpp"

#include <cmath>
#include <numeric>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Ids = std::vector<SampleId>;
using Counts = std::vector<std::int64_t>;

std::shared_ptr<const ClassIndex> data_of_sizes(const Counts& sizes) {
  std::vector<int> labels;
  for (std::size_t j = 0; j < sizes.size(); ++j) {
    labels.insert(labels.end(), static_cast<std::size_t>(sizes[j]), static_cast<int>(j));
  }
  return std::make_shared<const ClassIndex>(labels, static_cast<ClassId>(sizes.size()));
}

/// Observes one loss per class.
void observe_by_class(Pruner& pruner, std::span<const SampleId> ids,
                      std::span<const float> class_losses) {
  std::vector<float> losses;
  for (const SampleId id : ids) {
    losses.push_back(class_losses[static_cast<std::size_t>(pruner.classes().class_of(id))]);
  }
  pruner.observe(ids, losses);
}

TEST(Balanced, TakesEqualCountsAndSmallClassesWhole) {
  const auto classes = data_of_sizes({700, 290, 10});
  BalancedPruner pruner(classes, {.pruning_rate = 0.9});
  const Selection first = pruner.select(0);
  EXPECT_THAT(classes->count_by_class(first.ids), ElementsAre(45, 45, 10));
  EXPECT_THAT(first.weights, IsEmpty());
  EXPECT_NE(pruner.select(1).ids, first.ids);
}

TEST(Balanced, KeepsTheIdentityOfItsStatesWhereSharesAreEqual) {
  const BalancedPruner pruner(data_of_sizes({7, 3}), {.pruning_rate = 0.5});
  EXPECT_THAT(pruner.options(), ElementsAre("pruning_rate=0.5", "seed=0"));
}

TEST(Balanced, TakesTheSharesOfAnotherRule) {
  // Roots 30, 10 and 3 of 43: 30.2, 10.07 and 3.02 samples of 43.3, a twentieth of the square
  // of those; K = 50 of 1009 gives 34.88, 11.63, 3.49.
  const auto classes = data_of_sizes({900, 100, 9});
  BalancedPruner pruner(classes, {.pruning_rate = 1 - 50 / 1009.0},
                        {.class_share = BalancedShare::Power});
  EXPECT_FALSE(pruner.learns());
  EXPECT_THAT(classes->count_by_class(pruner.select(0).ids), ElementsAre(35, 12, 3));
  EXPECT_THAT(pruner.select(0).weights, IsEmpty());
}

TEST(Balanced, WeighsFullClassesThatShouldHaveMore) {
  // Equal shares of 12: 4 each. Class 2 has one sample, so the others have 5.5; rounded, 6 and 5,
  // the lower class first. At their level the one should be 5.5, so it counts that much, and all
  // weights are divided by their mean 16.5 / 12.
  const auto classes = data_of_sizes({100, 100, 1});
  const auto weights_at = [&](double lift) {
    BalancedPruner pruner(
        classes, {.pruning_rate = 1 - 12 / 201.0},
        {.class_share = BalancedShare::Power, .lift = lift, .share = {.size_power = 0}});
    const Selection selection = pruner.select(0);
    EXPECT_THAT(classes->count_by_class(selection.ids), ElementsAre(6, 5, 1));
    return selection.weights;
  };
  const std::vector<float> weights = weights_at(10);
  ASSERT_EQ(weights.size(), 12U);
  EXPECT_NEAR(weights.front(), 12 / 16.5, 1e-6);
  EXPECT_NEAR(weights.back(), 5.5 * 12 / 16.5, 1e-6);
  EXPECT_NEAR(weights_at(2).back(), 2 * 12 / 13.0, 1e-6);
  EXPECT_THAT(weights_at(1), IsEmpty());
}

TEST(Balanced, FollowsTheMeanLossesOfItsLastEpoch) {
  // eta 1 and losses ln 2 and 0: shares 2 : 1 in epoch 1, 1 : 1 after the reverse.
  const auto classes = data_of_sizes({100, 100});
  BalancedPruner pruner(classes, {.pruning_rate = 0.85},
                        {.class_share = BalancedShare::GroupDro, .share = {.eta = 1}});
  EXPECT_TRUE(pruner.learns());
  const auto counts_of = [&](int epoch, std::vector<float> losses) {
    const Ids ids = pruner.select(epoch).ids;
    observe_by_class(pruner, ids, losses);
    return classes->count_by_class(ids);
  };
  const auto ln2 = std::log(2.0F);
  EXPECT_THAT(counts_of(0, {ln2, 0}), ElementsAre(15, 15));
  EXPECT_THAT(counts_of(1, {0, ln2}), ElementsAre(20, 10));
  EXPECT_THAT(counts_of(2, {0, 0}), ElementsAre(15, 15));
}

TEST(Balanced, JudgesSamplesThatWereNotObservedByTheMeanOfTheirClass) {
  // Of each class only the first selected sample is observed; class 2 not at all, so that it has
  // the mean of both others, 1.5. Shares as the losses: 1 : 2 : 1.5.
  const auto classes = data_of_sizes({100, 100, 100});
  BalancedPruner pruner(
      classes, {.pruning_rate = 0.85},
      {.class_share = BalancedShare::Power, .share = {.size_power = 0, .loss_power = 1}});
  const Ids ids = pruner.select(0).ids;
  pruner.observe(Ids{ids[0], ids[15]}, std::vector<float>{1, 2});
  EXPECT_THAT(classes->count_by_class(pruner.select(1).ids), ElementsAre(10, 20, 15));
}

TEST(Balanced, LearnsNothingWhereNothingWasObserved) {
  // Losses of 0 would count exp(10 / sqrt(400)) to exp(10 / sqrt(100)).
  const auto classes = data_of_sizes({400, 100});
  BalancedPruner pruner(
      classes, {.pruning_rate = 0.9},
      {.class_share = BalancedShare::GroupDro, .share = {.eta = 1, .adjustment = 10}});
  const Ids ids = pruner.select(0).ids;
  EXPECT_THAT(classes->count_by_class(pruner.select(1).ids), ElementsAre(25, 25));
  pruner.observe_late(ids, std::vector<float>(ids.size(), 0.0F));
  // 1 : exp(1/2), so 18.88 of 50
  EXPECT_THAT(classes->count_by_class(pruner.select(2).ids), ElementsAre(19, 31));
}

TEST(Balanced, GoesByToldErrorsOfClassesWhereThereAreAny) {
  const auto classes = data_of_sizes({100, 100});
  BalancedPruner pruner(
      classes, {.pruning_rate = 0.85},
      {.class_share = BalancedShare::Power, .share = {.size_power = 0, .loss_power = 1}});
  observe_by_class(pruner, pruner.select(0).ids, std::vector<float>{9, 1});
  pruner.observe_classes(std::vector<double>{1, 2});
  EXPECT_THAT(classes->count_by_class(pruner.select(1).ids), ElementsAre(10, 20));
  BalancedPruner equal(classes, {});
  EXPECT_THAT(
      message_of<InvalidArgument>([&] {
        equal.observe_classes(std::vector<double>{1, 2});
      }),
      HasSubstr("balanced does not use class errors here; rcap with class_share robust does, "
                "and so do class shares that follow losses"));
}

TEST(Balanced, RefusesOptionsThatItsShareLacksOrDoesNotAllow) {
  const auto refusal = [](const BalancedOptions& options) {
    return message_of<InvalidArgument>([&] {
      const BalancedPruner pruner(data_of_sizes({7, 3}), {}, options);
    });
  };
  EXPECT_THAT(refusal({.class_share = BalancedShare::Deferred}),
              HasSubstr("class_share deferred: epochs is missing"));
  EXPECT_THAT(
      refusal({.class_share = BalancedShare::Domain, .share = {.reference_losses = {1, -0.5}}}),
      HasSubstr("reference_losses[1] is -0.5; it must be at least 0"));
  EXPECT_THAT(refusal({.class_share = BalancedShare::GroupDro, .share = {.eta = -1}}),
              HasSubstr("eta is -1; it must lie between 0 and"));
  EXPECT_THAT(refusal({.class_share = BalancedShare::Power, .lift = 0.5}),
              HasSubstr("lift is 0.5; it must lie between 1 and"));
}

TEST(Balanced, TellsWhichSharesAnOptionIsFor) {
  BalancedOptions options;
  OptionFields fields;
  list_options(fields, options);
  const auto refusal = [&](std::string_view name) {
    return message_of<InvalidArgument>([&] { fields.find(name)->set("1"); });
  };
  EXPECT_EQ(refusal("lift"), "lift is for class shares other than equal");
  EXPECT_EQ(refusal("epochs"), "epochs is for the class shares progressive and deferred");
  EXPECT_EQ(refusal("turns"), "turns is for the class share bandit");
  fields.find("class_share")->set("domain");
  EXPECT_EQ(message_of<InvalidArgument>([&] { fields.find("reference_losses")->set("1,x"); }),
            "reference_losses \"x\" is not a number");
  fields.find("reference_losses")->set("1,0.25");
  EXPECT_THAT(options.share.reference_losses, ElementsAre(1, 0.25));
  EXPECT_EQ(fields.find("reference_losses")->word(), "1,0.25");
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

}  // namespace
}  // namespace rcap
