// Windows: selections within one pass, unseen samples first.

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gmock/gmock.h>

#include "core/all_methods.hpp"
#include "core/expect_throw.hpp"
#include "core/times_tried.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/rounds.hpp"

namespace rcap {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;

/// `large` samples of class 0, `small` of class 1.
std::shared_ptr<const ClassIndex> two_classes(std::size_t large, std::size_t small) {
  std::vector<int> labels(large, 0);
  labels.resize(large + small, 1);
  return std::make_shared<const ClassIndex>(labels);
}

std::vector<Variant> windowed_variants() {
  std::vector<Variant> variants = all_variants();
  std::erase_if(variants, [](const Variant& variant) {
    return variant.method != "rcap" && variant.method != "balanced";
  });
  return variants;
}

PrunerOptions window_options(const Variant& variant, const ClassIndex& classes,
                             std::int64_t window) {
  PrunerOptions options = options_of(variant, classes);
  options.common.windows.window = window;
  return options;
}

class EveryMethodWithWindows : public testing::TestWithParam<Variant> {
 protected:
  [[nodiscard]] std::unique_ptr<Pruner> make(const std::shared_ptr<const ClassIndex>& classes,
                                             std::int64_t window, int threads = 1) const {
    PrunerOptions options = window_options(GetParam(), *classes, window);
    options.common.threads = threads;
    return make_pruner(GetParam().method, classes, options);
  }
};
INSTANTIATE_TEST_SUITE_P(All, EveryMethodWithWindows, testing::ValuesIn(windowed_variants()),
                         [](const auto& test) { return test.param.name; });

TEST_P(EveryMethodWithWindows, HoldExactlyWhatIsAskedForAndVisitAClassEvenly) {
  const auto classes = small_data_set();
  const auto pruner = make(classes, 150);
  observe_initial_losses(*pruner);
  std::vector<int> visits(2000);
  for (const Selection& window : run_epochs(*pruner, 0, 40)) {  // three times the data set
    ASSERT_EQ(window.ids.size(), 150U);
    for (const SampleId id : window.ids) ++visits[static_cast<std::size_t>(id)];
    std::vector<int> least(6, 1000), most(6, 0);
    for (SampleId id = 0; id < 2000; ++id) {
      const auto j = static_cast<std::size_t>(classes->class_of(id));
      least[j] = std::min(least[j], visits[static_cast<std::size_t>(id)]);
      most[j] = std::max(most[j], visits[static_cast<std::size_t>(id)]);
    }
    for (std::size_t j = 0; j < 6; ++j) ASSERT_LE(most[j] - least[j], 1) << window.epoch;
  }
}

TEST_P(EveryMethodWithWindows, GoOnInMidWindowAsIfNeverStoppedWithAnyNumberOfThreads) {
  const auto classes = small_data_set();
  const auto pruner = make(classes, 300);
  observe_initial_losses(*pruner);
  run_epochs(*pruner, 0, 5);
  const std::vector<SampleId> ids = pruner->select(5).ids;
  const std::vector<float> losses = losses_of(ids, 5);
  pruner->observe(std::span(ids).first(100), std::span(losses).first(100));
  const auto resumed = make(classes, 300, 2);
  resumed->set_state(pruner->state());
  for (Pruner* each : {pruner.get(), resumed.get()}) {
    each->observe(std::span(ids).subspan(100), std::span(losses).subspan(100));
  }
  EXPECT_EQ(resumed->select(5), pruner->select(5));
  EXPECT_EQ(run_epochs(*resumed, 6, 20), run_epochs(*pruner, 6, 20));
  EXPECT_EQ(resumed->state(), pruner->state());
}

TEST(Windows, KeepTokensWithinOneSampleOfEveryDomainsBudget) {
  for (int number = 0; number < times_tried(200); ++number) {
    SCOPED_TRACE(number);
    const RandomStream random(43, Purpose::Synthetic, number);
    std::vector<int> labels;
    std::vector<std::int64_t> lengths;
    for (SampleId id = 0; id < 300; ++id) {
      labels.push_back(id < 5 ? static_cast<int>(id)
                              : static_cast<int>(5 * std::pow(random.uniform(id), 2)));
      lengths.push_back(static_cast<std::int64_t>(std::exp(11.5 * random.uniform(1000 + id))));
    }
    const auto classes =
        std::make_shared<const ClassIndex>(ClassIndex(labels).with_lengths(lengths));
    PrunerOptions options = options_for(*classes);
    options.rcap.class_share = number % 2 == 0 ? ClassShare::Domain : ClassShare::Robust;
    options.rcap.initial_loss = InitialLoss::Forward;  // so that the budgets are known beforehand
    options.common.windows.window = std::max(std::ranges::max(lengths), classes->token_count() / 6);
    if (number % 3 == 0) options.common.windows.max_repeats = 1;
    RcapPruner pruner(classes, options.common, options.rcap);
    observe_initial_losses(pruner);
    for (int window = 0; window < 5; ++window) {
      const std::vector<std::int64_t> budgets = pruner.class_counts();
      const std::vector<SampleId> ids = pruner.select(window).ids;
      const auto taken = classes->tokens_by_class(ids);
      std::vector<std::int64_t> longest(budgets.size());
      for (SampleId id = 0; id < 300; ++id) {
        std::int64_t& most = longest[static_cast<std::size_t>(classes->class_of(id))];
        most = std::max<std::int64_t>(most, classes->length_of(id));
      }
      for (std::size_t j = 0; j < taken.size(); ++j) {
        ASSERT_LT(std::abs(taken[j] - budgets[j]), longest[j]);
      }
      pruner.observe(ids, losses_of(ids, window));
    }
  }
}

TEST(Windows, ReachEverySampleOnceBeforeARepeat) {
  // Equal shares of 4: the 6 samples of class 1 last for three windows, then they come again.
  const auto classes = two_classes(94, 6);
  PrunerOptions options;
  options.common.windows.window = 4;
  const auto pruner = make_pruner("balanced", classes, options);
  std::vector<int> visits(100);
  for (int window = 0; window < 47; ++window) {
    for (const SampleId id : pruner->select(window).ids) ++visits[static_cast<std::size_t>(id)];
  }
  EXPECT_THAT(std::vector(visits.begin(), visits.begin() + 94), Each(1));
  // 94 in all, 15 or 16 each.
  EXPECT_EQ(std::accumulate(visits.begin() + 94, visits.end(), 0), 94);
  EXPECT_THAT(std::vector(visits.begin() + 94, visits.end()), Each(testing::AnyOf(15, 16)));
}

TEST(Windows, LetASampleComeAgainOnlySoOften) {
  // Equal shares, 4 samples in class 1 that may come three times in all: 12 of them, and after 6
  // windows class 0 has to fill the others alone, until it has come three times, too.
  const auto classes = two_classes(16, 4);
  PrunerOptions options;
  options.common.windows.window = 4;
  options.common.windows.max_repeats = 2;
  const auto pruner = make_pruner("balanced", classes, options);
  std::vector<int> visits(20);
  for (int window = 0; window < 15; ++window) {
    const Selection& selection = pruner->select(window);
    EXPECT_EQ(selection.ids.size(), 4U);
    for (const SampleId id : selection.ids) ++visits[static_cast<std::size_t>(id)];
    EXPECT_THAT(visits, Each(Le(3)));
    const std::int64_t of_small = std::accumulate(visits.begin() + 16, visits.end(), 0);
    EXPECT_EQ(of_small, std::min(12, 2 * (window + 1)));
  }
  EXPECT_THAT(visits, Each(3));
  EXPECT_THAT(
      message_of<InvalidArgument>([&] { (void)pruner->select(15); }),
      HasSubstr("nothing is left for window 15: every sample has come once and 2 more times "
                "(max_repeats)"));
  EXPECT_EQ(pruner->epoch(), 14);
}

TEST(Windows, DrawAnewWhereUnseenSamplesDoNotComeFirst) {
  const auto classes = small_data_set();
  PrunerOptions by_rate = options_for(*classes);  // keeps 600
  PrunerOptions by_window = by_rate;
  by_window.common.windows = {.window = 600, .unseen_first = false};
  const auto expected = make_pruner("rcap", classes, by_rate);
  const auto pruner = make_pruner("rcap", classes, by_window);
  EXPECT_EQ(run_epochs(*pruner, 0, 5), run_epochs(*expected, 0, 5));
}

TEST(Windows, AreBlocksOfThePermutationOfRs2) {
  const auto classes = small_data_set(100);
  PrunerOptions options;
  options.common.windows.window = 20;
  const auto pruner = make_pruner("rs2", classes, options);
  std::vector<int> visits(100);
  for (int window = 0; window < 5; ++window) {
    for (const SampleId id : pruner->select(window).ids) ++visits[static_cast<std::size_t>(id)];
  }
  EXPECT_THAT(visits, Each(1));
}

TEST(Windows, CountTheBatchesThatAreKnown) {
  const auto classes = two_classes(80, 20);
  PrunerOptions options;
  options.common.windows.window = 20;
  EXPECT_EQ(make_pruner("balanced", classes, options)->planned_batches(12, 8), 36);
  options.common.windows.max_repeats = 1;
  const auto pruner = make_pruner("balanced", classes, options);
  EXPECT_EQ(pruner->planned_batches(5, 8), 15);
  EXPECT_EQ(pruner->planned_batches(6, 8), std::nullopt);
}

TEST(Windows, RefuseWhatTheyCannotHold) {
  const auto classes = two_classes(80, 20);
  const auto complaint = [&](const char* method, WindowOptions windows) {
    PrunerOptions options = options_for(*classes);
    options.common.windows = windows;
    return message_of<InvalidArgument>([&] { (void)make_pruner(method, classes, options); });
  };
  EXPECT_THAT(complaint("rcap", {.window = 101}), HasSubstr("window is 101; the data set has 100"));
  EXPECT_THAT(complaint("rcap", {.window = 0}), HasSubstr("window is 0; it must be at least 1"));
}

TEST(Windows, LeaveNothingToRemarkOnARate) {
  const auto classes = two_classes(80, 20);
  PrunerOptions options;
  options.common.windows.window = 50;
  EXPECT_EQ(remark_on_budget(*make_pruner("balanced", classes, options), 0.99), "");
}

TEST(Windows, BelongToTheStateInsteadOfThePruningRate) {
  const auto classes = two_classes(80, 20);
  PrunerOptions options;
  options.common.windows = {.window = 20, .max_repeats = 3};
  const auto pruner = make_pruner("balanced", classes, options);
  EXPECT_THAT(pruner->options(),
              ElementsAre("seed=0", "window=20", "unseen_first=on", "max_repeats=3"));
  PrunerOptions other = options;
  other.common.windows.max_repeats = {};
  EXPECT_THAT(message_of<StateMismatch>(
                  [&] { make_pruner("balanced", classes, other)->set_state(pruner->state()); }),
              HasSubstr("max_repeats=3"));
}

TEST(SetOptions, TakesThemInAnyOrder) {
  PrunerOptions options;
  OptionFields fields;
  const MethodInfo& method = require_method("rcap");
  list_options(fields, method, options);
  const GivenOption given[] = {{"max_repeats", "2"}, {"unseen_first", "on"}, {"window", "30"}};
  set_options(fields, method, given, Reader::Code);
  EXPECT_EQ(options.common.windows.window, 30);
  EXPECT_EQ(options.common.windows.max_repeats, 2);
  const GivenOption alone[] = {{"max_repeats", "2"}, {"unseen_first", "off"}};
  PrunerOptions others;
  OptionFields their_fields;
  list_options(their_fields, method, others);
  EXPECT_THAT(
      message_of<InvalidArgument>([&] { set_options(their_fields, method, alone, Reader::Code); }),
      HasSubstr("max_repeats is for windows"));
}

}  // namespace
}  // namespace rcap
