// Methods whose samples have lengths: everything is in tokens.

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gmock/gmock.h>

#include "core/all_methods.hpp"
#include "core/expect_throw.hpp"
#include "core/times_tried.hpp"
#include "rcap/core/class_budget.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

using testing::DoubleEq;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;

std::shared_ptr<const ClassIndex> with_lengths(const ClassIndex& classes,
                                               const std::vector<std::int64_t>& lengths) {
  std::vector<ClassId> labels;
  for (SampleId id = 0; id < classes.sample_count(); ++id) labels.push_back(classes.class_of(id));
  return std::make_shared<const ClassIndex>(ClassIndex(labels).with_lengths(lengths));
}

/// Lengths from 1 to `most`, small ones as likely as large ones.
std::vector<std::int64_t> random_lengths(std::int64_t count, double most, std::int64_t number = 0) {
  const RandomStream random(41, Purpose::Synthetic, number);
  std::vector<std::int64_t> lengths;
  for (SampleId id = 0; id < count; ++id) {
    lengths.push_back(static_cast<std::int64_t>(std::exp(random.uniform(id) * std::log(most))));
  }
  return lengths;
}

std::vector<Variant> variants_with_lengths() {
  std::vector<Variant> variants = all_variants();
  std::erase_if(variants,
                [](const Variant& variant) { return !find_method(variant.method)->takes_lengths; });
  return variants;
}

class EveryMethodWithLengths : public testing::TestWithParam<Variant> {};
INSTANTIATE_TEST_SUITE_P(All, EveryMethodWithLengths, testing::ValuesIn(variants_with_lengths()),
                         [](const auto& test) { return test.param.name; });

TEST_P(EveryMethodWithLengths, SelectsAsWithoutThemIfAllAreOne) {
  const auto plain = small_data_set();
  const auto ones = with_lengths(*plain, std::vector<std::int64_t>(2000, 1));
  const auto expected = make_variant(GetParam(), plain);
  const auto pruner = make_variant(GetParam(), ones);
  observe_initial_losses(*expected);
  observe_initial_losses(*pruner);
  EXPECT_EQ(pruner->keep_count(), expected->keep_count());
  EXPECT_EQ(run_epochs(*pruner, 0, 6), run_epochs(*expected, 0, 6));
  EXPECT_EQ(pruner->log_prior(), expected->log_prior());
}

TEST_P(EveryMethodWithLengths, GoesOnInMidEpochAsIfNeverStopped) {
  const auto classes = with_lengths(*small_data_set(), random_lengths(2000, 300));
  const auto pruner = make_variant(GetParam(), classes);
  observe_initial_losses(*pruner);
  run_epochs(*pruner, 0, 3);
  const std::vector<SampleId> ids = pruner->select(3).ids;
  const std::vector<float> losses = losses_of(ids, 3);
  const std::size_t half = ids.size() / 2;
  pruner->observe(std::span(ids).first(half), std::span(losses).first(half));

  const auto resumed = make_variant(GetParam(), classes, 2);
  resumed->set_state(pruner->state());
  for (Pruner* each : {pruner.get(), resumed.get()}) {
    each->observe(std::span(ids).subspan(half), std::span(losses).subspan(half));
  }
  EXPECT_EQ(resumed->select(3), pruner->select(3));
  EXPECT_EQ(run_epochs(*resumed, 4, 7), run_epochs(*pruner, 4, 7));
  EXPECT_EQ(resumed->log_prior(), pruner->log_prior());
}

TEST_P(EveryMethodWithLengths, StaysAsItWasIfAStateIsRefused) {
  const auto classes = with_lengths(*small_data_set(), random_lengths(2000, 300));
  const auto pruner = make_variant(GetParam(), classes);
  observe_initial_losses(*pruner);
  run_epochs(*pruner, 0, 2);
  const auto later = make_variant(GetParam(), classes);
  later->set_state(pruner->state());
  run_epochs(*later, 2, 4);
  std::vector<std::byte> longer = later->state();
  longer.push_back(std::byte{});
  const std::vector<std::byte> before = pruner->state();
  EXPECT_THROW(pruner->set_state(longer), BadFile);
  EXPECT_EQ(pruner->state(), before);
}

TEST(Lengths, KeepEveryDomainWithinOneSampleOfItsBudget) {
  const ClassShare shares[] = {ClassShare::Robust, ClassShare::Paper,    ClassShare::Mass,
                               ClassShare::Group,  ClassShare::GroupDro, ClassShare::Domain,
                               ClassShare::Bandit, ClassShare::Power};
  for (int number = 0; number < times_tried(1000); ++number) {
    SCOPED_TRACE(number);
    const RandomStream random(42, Purpose::Synthetic, number);
    const auto sample_count = static_cast<SampleId>(60 + random.below(600, 0));
    const auto class_count = static_cast<ClassId>(1 + random.below(12, 1));
    std::vector<int> labels;
    for (SampleId id = 0; id < sample_count; ++id) {
      const double skewed = std::pow(random.uniform(100 + id), 3);
      labels.push_back(id < class_count ? static_cast<int>(id)
                                        : static_cast<int>(skewed * class_count));
    }
    const auto lengths = random_lengths(sample_count, 100'000, number);
    const auto classes =
        std::make_shared<const ClassIndex>(ClassIndex(labels).with_lengths(lengths));
    PrunerOptions options = options_for(*classes);
    options.rcap.class_share = shares[number % 8];
    options.rcap.initial_loss = InitialLoss::Forward;  // so that the budgets are known beforehand
    // At least the longest sample has to fit.
    const double least = 1.0001 * static_cast<double>(std::ranges::max(lengths)) /
                         static_cast<double>(classes->token_count());
    if (least >= 1) continue;
    options.common.pruning_rate = (1 - least) * random.uniform(2);
    RcapPruner pruner(classes, options.common, options.rcap);
    observe_initial_losses(pruner);
    for (int epoch = 0; epoch < 3; ++epoch) {
      const std::vector<std::int64_t> budgets = pruner.class_counts();
      ASSERT_EQ(std::accumulate(budgets.begin(), budgets.end(), std::int64_t{0}),
                pruner.keep_tokens());
      const std::vector<SampleId> ids = pruner.select(epoch).ids;
      const auto taken = classes->tokens_by_class(ids);
      for (std::size_t j = 0; j < taken.size(); ++j) {
        std::int64_t longest = 0;
        for (SampleId id = 0; id < sample_count; ++id) {
          if (std::cmp_equal(classes->class_of(id), j))
            longest = std::max(longest, lengths[static_cast<std::size_t>(id)]);
        }
        ASSERT_LT(std::abs(taken[j] - budgets[j]), longest);
        ASSERT_GT(taken[j], 0);
      }
      pruner.observe(ids, losses_of(ids, epoch));
    }
  }
}

TEST(Lengths, MakeTheErrorOfAClassTheMeanOverItsTokens) {
  // Class 0 has samples of 1 and 3 tokens with losses 2 and 4: (1 * 2 + 3 * 4) / 4 = 3.5 for each
  // token. Class 1 has 2 tokens of loss 1.
  const auto classes = std::make_shared<const ClassIndex>(
      ClassIndex(std::vector<int>{0, 0, 1}).with_lengths(std::vector<int>{1, 3, 2}));
  const auto errors = [&](ClassShare share) {
    RcapPruner pruner(classes, {.pruning_rate = 0}, {.class_share = share});
    pruner.observe(std::vector<SampleId>{0, 1, 2}, std::vector<float>{2, 4, 1});
    return pruner.class_errors();
  };
  EXPECT_THAT(errors(ClassShare::Bandit), ElementsAre(DoubleEq(3.5), DoubleEq(1)));
  EXPECT_THAT(errors(ClassShare::Robust), ElementsAre(DoubleEq(14), DoubleEq(2)));  // times tokens
  EXPECT_THAT(errors(ClassShare::Paper), ElementsAre(DoubleEq(14), DoubleEq(2)));   // sums
  EXPECT_THAT(errors(ClassShare::Mass), ElementsAre(DoubleEq(1), DoubleEq(1)));     // all of it
}

TEST(Lengths, SplitTheBudgetByTokens) {
  // 100 samples of 1 token and 10 of 30: in proportion to tokens 1 : 3 of 100.
  std::vector<int> labels(100, 0), lengths(100, 1);
  labels.resize(110, 1);
  lengths.resize(110, 30);
  const auto classes = std::make_shared<const ClassIndex>(ClassIndex(labels).with_lengths(lengths));
  PrunerOptions options;
  options.common.pruning_rate = 0.7;  // 120 of 400 tokens
  options.balanced.class_share = BalancedShare::Power;
  options.balanced.share.size_power = 1;
  const auto pruner = make_pruner("balanced", classes, options);
  EXPECT_EQ(pruner->keep_tokens(), 120);
  EXPECT_EQ(pruner->keep_count(), 33);  // about: a sample has 400 / 110 tokens
  const auto& ids = pruner->select(0).ids;
  EXPECT_THAT(classes->tokens_by_class(ids), ElementsAre(30, 90));
  EXPECT_THAT(classes->count_by_class(ids), ElementsAre(30, 3));
  EXPECT_THAT(pruner->log_prior(),
              ElementsAre(DoubleNear(std::log(0.25), 1e-12), DoubleNear(std::log(0.75), 1e-12)));
}

TEST(Lengths, LetWeightsAverageOneOverTokens) {
  const auto classes = with_lengths(*small_data_set(), random_lengths(2000, 300));
  PrunerOptions options = options_for(*classes);
  options.common.pruning_rate = 0.5;  // some classes are full
  options.rcap.robust.unbias = 2;
  const auto pruner = make_pruner("rcap", classes, options);
  run_epochs(*pruner, 0, 3);
  const Selection& selection = pruner->select(3);
  double sum = 0;
  double tokens = 0;
  for (std::size_t i = 0; i < selection.ids.size(); ++i) {
    const double length = classes->length_of(selection.ids[i]);
    sum += length * static_cast<double>(selection.weights[i]);
    tokens += length;
  }
  EXPECT_NEAR(sum / tokens, 1, 1e-5);
  EXPECT_GT(std::ranges::max(selection.weights), 1.5F);
}

TEST(Lengths, LeaveNoSampleOutOfAPassOfRs2) {
  const auto lengths = random_lengths(500, 1000);
  const auto classes = with_lengths(*small_data_set(500), lengths);
  PrunerOptions options;
  options.common.pruning_rate = 0.85;
  const auto pruner = make_pruner("rs2", classes, options);
  const std::int64_t budget = pruner->keep_tokens();
  std::vector<int> times(500);
  for (int epoch = 0; epoch < 7; ++epoch) {  // 7 * 0.15 > 1
    std::int64_t tokens = 0;
    for (const SampleId id : pruner->select(epoch).ids) {
      ++times[static_cast<std::size_t>(id)];
      tokens += lengths[static_cast<std::size_t>(id)];
    }
    EXPECT_LE(std::abs(tokens - budget), 1000) << epoch;
    if (epoch == 5) {
      EXPECT_EQ(std::ranges::max(times), 1);
    }
  }
  EXPECT_EQ(std::ranges::min(times), 1);
}

TEST(Lengths, AreRefusedByMethodsThatCountSamples) {
  const auto classes = with_lengths(*small_data_set(), random_lengths(2000, 300));
  for (const MethodInfo& method : methods()) {
    if (method.takes_lengths) continue;
    EXPECT_THAT(message_of<InvalidArgument>(
                    [&] { (void)make_pruner(method.name, classes, options_for(*classes)); }),
                HasSubstr("counts samples, not tokens; rcap, rs2, rs2-replace, ucb, "
                          "epsilon-greedy, top-loss, balanced and full take lengths"))
        << method.name;
  }
}

TEST(Lengths, AreRefusedIfASampleIsLongerThanTheBudget) {
  const auto classes = std::make_shared<const ClassIndex>(
      ClassIndex(std::vector<int>{0, 0, 0}).with_lengths(std::vector<int>{10, 61, 29}));
  PrunerOptions options;
  options.common.pruning_rate = 0.4;
  EXPECT_THAT(message_of<InvalidArgument>([&] { (void)make_pruner("rcap", classes, options); }),
              HasSubstr("that of sample 1 is 61, more than the 60 tokens that are kept of 100"));
}

TEST(Lengths, MustBeThoseOfTheStateThatIsLoaded) {
  const auto plain = small_data_set();
  const PrunerOptions options = options_for(*plain);
  const auto state =
      make_pruner("rs2", with_lengths(*plain, random_lengths(2000, 300)), options)->state();
  const auto without = make_pruner("rs2", plain, options);
  EXPECT_THAT(message_of<StateMismatch>([&] { without->set_state(state); }), HasSubstr("lengths="));
  const auto others = make_pruner("rs2", with_lengths(*plain, random_lengths(2000, 200)), options);
  EXPECT_THAT(message_of<StateMismatch>([&] { others->set_state(state); }), HasSubstr("lengths="));
}

TEST(Lengths, LeaveTheNumberOfBatchesOpen) {
  const auto classes = with_lengths(*small_data_set(), random_lengths(2000, 300));
  for (const char* method : {"rcap", "ucb", "rs2"}) {
    EXPECT_EQ(make_pruner(method, classes, options_for(*classes))->planned_batches(5, 32),
              std::nullopt);
  }
}

}  // namespace
}  // namespace rcap
