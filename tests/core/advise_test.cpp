#include "rcap/core/advise.hpp"

#include <cmath>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/expect_throw.hpp"
#include "rcap/core/class_budget.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::Not;

/// Classes 0, 1, ... of these sizes.
std::shared_ptr<const ClassIndex> classes_of(const std::vector<std::int64_t>& sizes) {
  std::vector<int> labels;
  for (std::size_t j = 0; j < sizes.size(); ++j) {
    labels.insert(labels.end(), static_cast<std::size_t>(sizes[j]), static_cast<int>(j));
  }
  return std::make_shared<const ClassIndex>(labels, static_cast<ClassId>(sizes.size()));
}

Advice advise_on(const std::vector<std::int64_t>& sizes, const AdviseOptions& options = {},
                 std::span<const double> losses = {}) {
  return advise(classes_of(sizes), losses, options);
}

AdviseOptions at_rates(std::vector<double> rates) {
  AdviseOptions options;
  options.pruning_rates = std::move(rates);
  return options;
}

const RuleOutcome& outcome(const Advice& advice, std::size_t rate, std::string_view rule) {
  return *std::ranges::find(advice.rates.at(rate).rules, rule, &RuleOutcome::rule);
}

auto has_reason(Basis basis, const std::string& source, const std::string& text) {
  return Contains(AllOf(Field(&Reason::basis, basis), Field(&Reason::source, source),
                        Field(&Reason::text, HasSubstr(text))));
}

// Balanced, of a size that the studies have.
const std::vector<std::int64_t> Even(10, 2000);
const std::vector<std::int64_t> TailOf10{10000, 5000, 3000, 2000, 2000, 1000, 1000};
const std::vector<std::int64_t> TailOf100{10000, 5000, 3000, 1000, 500, 200, 100};

TEST(Advise, TellsTheSizesOfTheClassesThatHaveSamples) {
  const Advice advice = advise_on({0, 20, 5, 40, 5, 40});
  EXPECT_EQ(advice.sample_count, 110);
  EXPECT_THAT(advice.class_sizes, ElementsAre(0, 20, 5, 40, 5, 40));
  EXPECT_EQ(advice.filled_class_count, 5);
  EXPECT_EQ(advice.smallest_class, 2);
  EXPECT_EQ(advice.largest_class, 3);
  EXPECT_DOUBLE_EQ(advice.imbalance, 8);
}

TEST(Advise, CountsWhatThePrunersKeep) {
  // 64 + 16 + 4 samples, of which 42 are kept. Balanced: 14 each, but class 2 has 4 and class 1 is
  // full at 16. Equal losses: shares as n (paper), or as its root (8 : 4 : 2, so that class 2 is
  // whole and the others share 38 as 25.3 : 12.7).
  const Advice advice = advise_on({64, 16, 4}, at_rates({0.5}));
  EXPECT_THAT(outcome(advice, 0, "balanced").class_counts, ElementsAre(22, 16, 4));
  EXPECT_THAT(outcome(advice, 0, "rcap paper").class_counts, ElementsAre(32, 8, 2));
  EXPECT_THAT(outcome(advice, 0, "rcap").class_counts, ElementsAre(25, 13, 4));
  EXPECT_THAT(outcome(advice, 0, "rcap group").class_counts, ElementsAre(25, 13, 4));
}

TEST(Advise, SpendsTheBudgetWithEveryRule) {
  const Advice advice = advise_on({500, 90, 7, 1, 0, 33}, at_rates({0.9, 0.25, 0.7, 0.25}));
  EXPECT_THAT(advice.options.pruning_rates, ElementsAre(0.25, 0.7, 0.9));
  ASSERT_EQ(advice.rates.size(), 3U);
  for (const RateAdvice& rate : advice.rates) {
    EXPECT_EQ(rate.keep_count, keep_count(631, 5, rate.pruning_rate));
    ASSERT_EQ(rate.rules.size(), advised_rules().size());
    for (const RuleOutcome& kept : rate.rules) {
      SCOPED_TRACE(kept.rule);
      EXPECT_EQ(std::accumulate(kept.class_counts.begin(), kept.class_counts.end(), 0),
                rate.keep_count);
    }
  }
}

TEST(Advise, SplitsByTheLossesThatAreGiven) {
  // Classes of 100, losses 1 and 4. Group goes by the root of the summed losses, 10 : 20 of 60.
  std::vector<double> losses(200, 1);
  std::fill(losses.begin() + 100, losses.end(), 4);
  const Advice advice = advise_on({100, 100}, at_rates({0.7}), losses);
  EXPECT_THAT(outcome(advice, 0, "rcap group").class_counts, ElementsAre(20, 40));
  EXPECT_THAT(outcome(advice, 0, "rcap").class_counts, ElementsAre(20, 40));
  EXPECT_THAT(outcome(advice, 0, "balanced").class_counts, ElementsAre(30, 30));
  ASSERT_TRUE(advice.losses);
  EXPECT_DOUBLE_EQ(advice.losses->mean, 2.5);
  EXPECT_DOUBLE_EQ(advice.losses->lowest, 1);
  EXPECT_DOUBLE_EQ(advice.losses->highest, 4);
  EXPECT_EQ(advice.losses->highest_class, 1);
}

TEST(Advise, AddsUpTheWorkOfARun) {
  AdviseOptions options = at_rates({0.9});
  options.epochs = 20;
  options.test_samples = 60;
  options.evaluate_every = 8;  // after epochs 8, 16 and 20
  const Advice advice = advise_on({50, 50}, options);
  EXPECT_DOUBLE_EQ(advice.full_work.training, 6000);  // 3 * 100 * 20
  EXPECT_DOUBLE_EQ(advice.full_work.evaluation, 180);
  const Work robust = outcome(advice, 0, "rcap").work;
  EXPECT_DOUBLE_EQ(robust.training, 600);
  EXPECT_DOUBLE_EQ(robust.first_pass, 0);
  EXPECT_DOUBLE_EQ(robust.evaluation, 180);
  EXPECT_DOUBLE_EQ(outcome(advice, 0, "rcap").speed_up, 6180.0 / 780);
  for (const char* rule : {"rcap paper", "rcap mass", "rcap group"}) {
    EXPECT_DOUBLE_EQ(outcome(advice, 0, rule).work.first_pass, 100) << rule;
    EXPECT_DOUBLE_EQ(outcome(advice, 0, rule).speed_up, 6180.0 / 880) << rule;
  }
}

TEST(Advise, EvaluatesTenTimesWhereNothingIsSaid) {
  AdviseOptions options;
  options.test_samples = 7;
  const Advice advice = advise_on({50, 50}, options);
  EXPECT_EQ(advice.options.evaluate_every, 6);
  EXPECT_DOUBLE_EQ(advice.full_work.evaluation, 70);
}

TEST(Advise, RemarksThatEveryClassKeepsOne) {
  const Advice advice = advise_on({2, 2, 2, 2}, at_rates({0.5, 0.9}));
  EXPECT_EQ(advice.rates[0].remark, "");
  EXPECT_THAT(advice.rates[1].remark, HasSubstr("4 are kept, one per class"));
}

TEST(Advise, RefusesWhatItCannotUse) {
  const auto refused = [](const AdviseOptions& options, std::span<const double> losses = {}) {
    return message_of<InvalidArgument>([&] { (void)advise_on({2, 2}, options, losses); });
  };
  EXPECT_THAT(refused(at_rates({0.5, 1})), HasSubstr("pruning_rate is 1; it must be at least 0"));
  EXPECT_THAT(refused(at_rates({-0.1})), HasSubstr("pruning_rate is -0.1"));
  EXPECT_THAT(refused(at_rates({std::nan("")})), HasSubstr("pruning_rate is nan"));
  EXPECT_THAT(refused(at_rates({})), HasSubstr("there is no pruning rate"));
  AdviseOptions options;
  options.epochs = 0;
  EXPECT_THAT(refused(options), HasSubstr("epochs is 0; it must lie between 1 and"));
  options = {};
  options.test_samples = -1;
  EXPECT_THAT(refused(options), HasSubstr("test_samples is -1"));
  options = {};
  options.evaluate_every = -1;
  EXPECT_THAT(refused(options), HasSubstr("evaluate_every is -1"));
  EXPECT_EQ(refused({}, std::vector{1.0, 2.0, 3.0}),
            "advise: 3 losses for 4 samples; give one for each sample, or none");
  EXPECT_EQ(refused({}, std::vector{1.0, 2.0, std::nan(""), 1.0}),
            "advise: the loss of sample 2 is nan; losses must be finite and >= 0");
  EXPECT_THAT(refused({}, std::vector{1.0, -2.0, 1.0, 1.0}), HasSubstr("sample 1 is -2"));
}

TEST(Suggestion, TakesTheHighestRateAtWhichTheStudiesLostNothing) {
  const Suggestion suggestion = advise_on(TailOf100).suggestion;
  EXPECT_EQ(suggestion.verdict, Verdict::Likely);
  EXPECT_EQ(suggestion.rule, "rcap");
  EXPECT_DOUBLE_EQ(suggestion.pruning_rate, 0.9);
  EXPECT_NEAR(suggestion.speed_up, 10, 0.01);
  EXPECT_NEAR(suggestion.points_lost.value(), 0.1, 1e-9);  // 82.6 to 82.5 % of the average class
  EXPECT_THAT(
      suggestion.reasons,
      has_reason(Basis::Computed, "labels", "100 times the smallest, class 6: of its 100 samples"));
  EXPECT_THAT(suggestion.reasons,
              has_reason(Basis::Study, "docs/results/fashion",
                         "\"long-tailed 100\" (imbalance 100) at 90 %: worst class 61.1 % (full "
                         "training 24.7, balanced 44.2, rs2 0.0)"));
  EXPECT_THAT(suggestion.reasons, has_reason(Basis::Study, "docs/results/tables", "FARS"));
  EXPECT_THAT(suggestion.reasons,
              has_reason(Basis::Study, "docs/results/fashion",
                         "70 % costs more but had the better average class: 86.2 % instead "
                         "of 82.5 % on \"long-tailed 100\""));
}

TEST(Suggestion, PrunesLessWhereThoseOfThisImbalanceLost) {
  const Suggestion suggestion = advise_on(TailOf10).suggestion;
  EXPECT_EQ(suggestion.verdict, Verdict::Likely);
  EXPECT_DOUBLE_EQ(suggestion.pruning_rate, 0.7);
  // Full training 88.8 % of the average class, rcap 86.1 at 90 %.
  EXPECT_THAT(suggestion.reasons,
              has_reason(Basis::Study, "docs/results/fashion",
                         "Not 90 %: at 90 % on \"long-tailed 10\" the worst class had 68.2 % "
                         "(full training 51.9), the average class 86.1 % (88.8)"));
}

TEST(Suggestion, NamesThePriceOnBalancedData) {
  const Suggestion suggestion = advise_on(Even).suggestion;
  EXPECT_EQ(suggestion.verdict, Verdict::AtAPrice);
  EXPECT_EQ(suggestion.rule, "rcap");
  EXPECT_DOUBLE_EQ(suggestion.pruning_rate, 0.7);
  EXPECT_NEAR(suggestion.points_lost.value(), 1.6, 1e-9);  // letters: 92.4 to 90.8 % of the worst
  EXPECT_THAT(suggestion.reasons, has_reason(Basis::Computed, "labels", "nearly balanced"));
  EXPECT_THAT(suggestion.reasons, has_reason(Basis::Study, "docs/results/tables", "letters"));
}

TEST(Suggestion, CountsAnImbalanceBelowTenAsNearlyBalanced) {
  EXPECT_EQ(advise_on({9999, 9999, 1000}).suggestion.verdict, Verdict::AtAPrice);
  EXPECT_EQ(advise_on({10000, 9999, 1000}).suggestion.verdict, Verdict::Likely);
}

TEST(Suggestion, TakesTheLowestRateWhereAllAreDear) {
  const Suggestion suggestion = advise_on(Even, at_rates({0.8, 0.9})).suggestion;
  EXPECT_EQ(suggestion.verdict, Verdict::AtAPrice);
  EXPECT_DOUBLE_EQ(suggestion.pruning_rate, 0.8);
}

TEST(Suggestion, SaysWhereNoStudyPrunesAsMuch) {
  const Suggestion suggestion = advise_on(TailOf100, at_rates({0.9, 0.95})).suggestion;
  EXPECT_DOUBLE_EQ(suggestion.pruning_rate, 0.9);
  EXPECT_THAT(suggestion.reasons,
              has_reason(Basis::Study, "docs/results", "No study prunes 95 % or more"));
  const Advice beyond = advise_on(TailOf100, at_rates({0.95}));
  EXPECT_EQ(beyond.suggestion.verdict, Verdict::AtAPrice);
  EXPECT_FALSE(beyond.suggestion.points_lost);
  EXPECT_THAT(describe(beyond), HasSubstr("Will it help? At a price that no study has measured."));
}

TEST(Suggestion, KeepsAHandfulOfEachClass) {
  // 400 classes of 50, two of 5000 each: at 90 % a class of 50 keeps 3000 * 7.07 / (400 * 7.07 + 2
  // * 70.7) = 7.1, at 95 % half of that.
  std::vector<std::int64_t> sizes(400, 50);
  sizes.insert(sizes.end(), {5000, 5000});
  const Suggestion suggestion = advise_on(sizes, at_rates({0.9, 0.95})).suggestion;
  EXPECT_DOUBLE_EQ(suggestion.pruning_rate, 0.9);
  EXPECT_THAT(suggestion.reasons,
              has_reason(Basis::Computed, "labels", "At 95 % class 0 would keep"));
}

TEST(Suggestion, KeepsClassesBelowAHandfulWhole) {
  // As Shuttle, whose smallest class has 8: at 90 % its share is more than it has.
  const Advice advice = advise_on({20000, 10000, 4});
  EXPECT_EQ(outcome(advice, 2, "rcap").class_counts[2], 4);
  EXPECT_DOUBLE_EQ(advice.suggestion.pruning_rate, 0.9);
}

TEST(Suggestion, ShowsEverySampleOnceOnAverage) {
  AdviseOptions options;
  options.epochs = 4;  // 2 visits at 50 %, 1.2 at 70 %, 0.4 at 90 %
  const Suggestion suggestion = advise_on(TailOf100, options).suggestion;
  EXPECT_DOUBLE_EQ(suggestion.pruning_rate, 0.7);
  EXPECT_THAT(suggestion.reasons,
              has_reason(Basis::Computed, "arithmetic", "At 90 % a sample is seen 0.4 times"));
  options.epochs = 1;
  EXPECT_EQ(advise_on(TailOf100, options).suggestion.verdict, Verdict::Hardly);
}

TEST(Suggestion, HardlyExpectsHelpForFewSamples) {
  const Suggestion suggestion = advise_on({1900, 99}).suggestion;
  EXPECT_EQ(suggestion.verdict, Verdict::Hardly);
  EXPECT_EQ(suggestion.rule, "full");
  EXPECT_DOUBLE_EQ(suggestion.speed_up, 1);
  EXPECT_THAT(suggestion.reasons, has_reason(Basis::Computed, "labels", "1,999 samples are few"));
  EXPECT_NE(advise_on({1900, 100}).suggestion.verdict, Verdict::Hardly);
}

TEST(Suggestion, HardlyExpectsHelpForOneClass) {
  const Suggestion suggestion = advise_on({0, 5000}).suggestion;
  EXPECT_EQ(suggestion.verdict, Verdict::Hardly);
  EXPECT_THAT(suggestion.reasons, has_reason(Basis::Computed, "labels", "There is one class"));
}

TEST(Suggestion, HardlyExpectsHelpForAsManyClassesAsSamples) {
  const Suggestion suggestion = advise_on(std::vector<std::int64_t>(3000, 1)).suggestion;
  EXPECT_EQ(suggestion.verdict, Verdict::Hardly);
  EXPECT_THAT(suggestion.reasons,
              has_reason(Basis::Computed, "arithmetic", "keeps 3,000 of 3,000 samples"));
}

TEST(Suggestion, HardlyExpectsHelpWhereClassesAreTiny) {
  const Suggestion suggestion = advise_on(std::vector<std::int64_t>(1000, 4)).suggestion;
  EXPECT_EQ(suggestion.verdict, Verdict::Hardly);
  EXPECT_THAT(suggestion.reasons,
              has_reason(Basis::Computed, "labels",
                         "At 50 % class 0 would keep 2 of its 4 samples in the first epoch"));
}

TEST(Suggestion, HardlyExpectsHelpWhereEvaluationIsTheWork) {
  AdviseOptions options;
  options.test_samples = 1'000'000'000;
  const Suggestion suggestion = advise_on(TailOf100, options).suggestion;
  EXPECT_EQ(suggestion.verdict, Verdict::Hardly);
  EXPECT_THAT(suggestion.reasons, has_reason(Basis::Computed, "arithmetic", "evaluate less often"));
}

TEST(Suggestion, LetsTheTemperatureFollowLossesOfAnotherScale) {
  // ln(10) = 2.3, five times that 11.5.
  const auto with_loss = [](double loss) {
    return advise_on(Even, {}, std::vector<double>(20000, loss)).suggestion;
  };
  EXPECT_FALSE(with_loss(11).auto_beta);
  const Suggestion large = with_loss(12);
  EXPECT_TRUE(large.auto_beta);
  EXPECT_THAT(large.reasons, has_reason(Basis::Computed, "losses", "The mean loss 12"));
  EXPECT_THAT(large.reasons, has_reason(Basis::Study, "docs/results/scale", "56.5 %"));
}

TEST(Suggestion, SaysWhereTheStudiesEnd) {
  const auto beyond = has_reason(Basis::Study, "docs/results", "compare on your own data");
  EXPECT_THAT(advise_on(Even).suggestion.reasons, Not(beyond));
  EXPECT_THAT(advise_on(std::vector<std::int64_t>(10, 1000)).suggestion.reasons, beyond);
  EXPECT_THAT(advise_on(std::vector<std::int64_t>(40, 1000)).suggestion.reasons, beyond);
}

TEST(DescribeAdvice, ShowsTheEndsOfManyClasses) {
  std::vector<std::int64_t> sizes(30);
  std::iota(sizes.rbegin(), sizes.rend(), 1001);  // class 0 has 1030, class 29 has 1001
  const std::string text = describe(advise_on(sizes, at_rates({0.5})));
  EXPECT_THAT(text, HasSubstr("class 0 has 1,030, class 29 has 1,001"));
  EXPECT_THAT(text, HasSubstr("... and 22 classes in between\n"));
  EXPECT_THAT(text, HasSubstr("\n    3    1,027"));
  EXPECT_THAT(text, Not(HasSubstr("\n    4    1,026")));
  EXPECT_THAT(text, HasSubstr("\n   26    1,004"));
}

TEST(DescribeAdvice, SaysWhatIsComputedAndWhatWasMeasured) {
  const std::string text = describe(advise_on(TailOf100));
  EXPECT_THAT(text, HasSubstr("with equal losses; later epochs"));
  EXPECT_THAT(text, HasSubstr("an estimate in samples, not a"));
  EXPECT_THAT(text, HasSubstr("  - [computed: labels] The"));
  EXPECT_THAT(text, HasSubstr("  - [measured: docs/results/fashion] \"long"));
  EXPECT_THAT(text, HasSubstr("Will it help? Likely. Try rcap at 90 %"));
  EXPECT_THAT(text, HasSubstr("rcap.RCAP(labels, pruning_rate=0.9)"));
  EXPECT_THAT(describe(advise_on(Even)),
              HasSubstr("At a price: similar data lost up to 1.6 points in the studies. Try rcap"));
  const std::string given = describe(advise_on({60, 40}, {}, std::vector<double>(100, 0.5)));
  EXPECT_THAT(given, HasSubstr("with the losses given"));
  EXPECT_THAT(given, HasSubstr("Will it help? Hardly. Train on everything."));
}

TEST(DescribeAdvice, HasNoLineThatATerminalWouldBreak) {
  const std::string text = describe(advise_on({100'000, 40'000, 1000, 10}));
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    EXPECT_LE(end - begin, 100U) << text.substr(begin, end - begin);
    begin = end + 1;
  }
}

}  // namespace
}  // namespace rcap
