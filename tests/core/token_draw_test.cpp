// Draws with token budgets: the prefix of the order of the keys that is nearest to the budget.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "core/times_tried.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/top_scores.hpp"
#include "rcap/core/weighted_draw.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Tokens = std::vector<std::int64_t>;

constexpr double Certain = -std::numeric_limits<double>::infinity();

/// Losses and lengths of samples in several classes, and budgets.
struct Case {
  ClassIndex classes;
  std::vector<float> losses;
  double beta;
  Tokens budgets;
  RandomStream stream;
};

/// A random data set with lengths from 1 to 100,000.
Case random_case(std::int64_t number) {
  const RandomStream random(31, Purpose::Synthetic, number);
  SampleId next = 0;
  const auto up_to = [&](double most) {  // small numbers as likely as large ones
    return static_cast<std::int64_t>(std::exp(random.uniform(next++) * std::log(most)));
  };
  const auto class_count = static_cast<ClassId>(up_to(40));
  const std::int64_t sample_count = class_count + up_to(2000);
  const auto longest = static_cast<double>(up_to(100'000));
  std::vector<int> labels;
  std::vector<std::int64_t> lengths;
  std::vector<float> losses;
  for (SampleId id = 0; id < sample_count; ++id) {
    const bool first_of_class = id < class_count;
    labels.push_back(static_cast<int>(first_of_class ? id : up_to(class_count) - 1));
    lengths.push_back(up_to(longest));
    losses.push_back(static_cast<float>(-std::log(random.uniform(next++)) * 3));
  }
  Case made{ClassIndex(labels).with_lengths(lengths),
            std::move(losses),
            std::exp(3 * random.uniform(next++) - 1.5),
            {},
            RandomStream(32, Purpose::Selection, number)};
  for (const std::int64_t tokens : made.classes.class_tokens()) {
    const double part = random.uniform(next++);
    made.budgets.push_back(
        static_cast<std::int64_t>(part * part * static_cast<double>(tokens + 1)));
  }
  return made;
}

/// The samples of each class, the best first.
std::vector<std::vector<SampleId>> ranked_by_class(const Case& of) {
  std::vector<std::vector<SampleId>> ranked(of.budgets.size());
  for (SampleId id = 0; id < of.classes.sample_count(); ++id) {
    ranked[static_cast<std::size_t>(of.classes.class_of(id))].push_back(id);
  }
  const auto rank = [&](SampleId id) {
    const double key =
        race_key(of.losses[static_cast<std::size_t>(id)], of.beta, of.stream.bits(id));
    return std::pair(-key, of.stream.bits(id));
  };
  for (auto& members : ranked) std::ranges::sort(members, {}, rank);
  return ranked;
}

std::int64_t distance(std::int64_t a, std::int64_t b) { return std::abs(a - b); }

/// The prefix nearest to the budget, found by looking at all of them.
std::vector<SampleId> nearest_prefix(const ClassIndex& classes, std::span<const SampleId> ranked,
                                     std::int64_t budget) {
  if (budget == 0) return {};
  std::size_t best = 1;
  std::int64_t tokens = 0;
  std::int64_t best_tokens = classes.length_of(ranked.front());
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    tokens += classes.length_of(ranked[i]);
    if (distance(tokens, budget) < distance(best_tokens, budget)) {
      best = i + 1;
      best_tokens = tokens;
    }
  }
  return {ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(best)};
}

/// The key that a drawn sample had to exceed, by its definition: that of the first of the others
/// behind which this sample would no longer be drawn.
double threshold_of(const Case& of, std::span<const SampleId> ranked, SampleId drawn,
                    std::int64_t budget) {
  std::int64_t others = 0;
  const std::int64_t length = of.classes.length_of(drawn);
  for (const SampleId id : ranked) {
    if (id == drawn) continue;
    others += of.classes.length_of(id);
    if (distance(others + length, budget) < distance(others, budget)) continue;
    return race_key(of.losses[static_cast<std::size_t>(id)], of.beta, of.stream.bits(id));
  }
  return Certain;
}

TEST(DrawTokens, EqualsAFullSortInAThousandRandomCases) {
  DrawScratch scratch;
  for (int number = 0; number < times_tried(1000); ++number) {
    SCOPED_TRACE(number);
    const Case of = random_case(number);
    DrawScratch fresh;
    const SampleSet drawn = draw_weighted(of.classes, {of.losses, of.beta}, of.budgets, of.stream,
                                          1 + number % 3, number % 2 == 0 ? &fresh : &scratch);
    const TokenThresholds& by_length = (number % 2 == 0 ? fresh : scratch).by_length;
    const auto ranked = ranked_by_class(of);
    const Tokens taken = of.classes.tokens_by_class(drawn.ids());
    std::int64_t count = 0;
    for (std::size_t j = 0; j < ranked.size(); ++j) {
      const auto expected = nearest_prefix(of.classes, ranked[j], of.budgets[j]);
      count += std::ssize(expected);
      std::int64_t longest = 0;
      for (const SampleId id : expected) {
        ASSERT_TRUE(drawn.contains(id));
        ASSERT_EQ(by_length.of(j, of.classes.length_of(id)),
                  threshold_of(of, ranked[j], id, of.budgets[j]));
      }
      for (const SampleId id : ranked[j])
        longest = std::max<std::int64_t>(longest, of.classes.length_of(id));
      ASSERT_LE(distance(taken[j], of.budgets[j]), longest);
    }
    ASSERT_EQ(drawn.count(), count);
    scratch = {};
  }
}

TEST(DrawTokens, DrawsTheSameWithWhatTheLastDrawLeft) {
  const Case of = random_case(3);
  DrawScratch scratch;
  const auto draw = [&](DrawScratch* with) {
    return draw_weighted(of.classes, {of.losses, of.beta}, of.budgets, of.stream, 1, with).ids();
  };
  const auto first = draw(&scratch);
  EXPECT_EQ(draw(&scratch), first);
  EXPECT_EQ(draw(nullptr), first);
}

TEST(DrawTokens, IsTheDrawOfSamplesWhereAllLengthsAreOne) {
  for (int number = 0; number < 50; ++number) {
    SCOPED_TRACE(number);
    const Case of = random_case(number);
    std::vector<ClassId> labels;
    for (SampleId id = 0; id < of.classes.sample_count(); ++id)
      labels.push_back(of.classes.class_of(id));
    const ClassIndex plain(labels);
    const ClassIndex ones = ClassIndex(labels).with_lengths(std::vector<int>(labels.size(), 1));
    Tokens counts;
    for (std::size_t j = 0; j < of.budgets.size(); ++j) {
      counts.push_back(std::min(of.budgets[j], plain.class_sizes()[j]));
    }
    DrawScratch of_samples, of_tokens;
    const SampleSet expected =
        draw_weighted(plain, {of.losses, of.beta}, counts, of.stream, 1, &of_samples);
    EXPECT_EQ(draw_weighted(ones, {of.losses, of.beta}, counts, of.stream, 1, &of_tokens),
              expected);
    for (std::size_t j = 0; j < counts.size(); ++j) {
      if (counts[j] == 0) continue;
      EXPECT_EQ(of_tokens.thresholds[j], of_samples.thresholds[j]);
      EXPECT_EQ(of_tokens.by_length.of(j, 1), of_samples.thresholds[j]);
    }
    EXPECT_EQ(draw_per_class(ones, counts, of.stream), draw_per_class(plain, counts, of.stream));
    EXPECT_EQ(draw_tokens(ones, 1, of.stream), draw_uniform(plain.sample_count(), 1, of.stream));
  }
}

/// The probability of every set that can be drawn from one class: over all orders in which its
/// samples can come one after another, up to where the budget ends.
std::map<std::vector<SampleId>, double> set_probabilities(const ClassIndex& classes,
                                                          const std::vector<float>& losses,
                                                          std::int64_t budget) {
  std::vector<SampleId> order(losses.size());
  std::iota(order.begin(), order.end(), 0);
  std::map<std::vector<SampleId>, double> probabilities;
  do {
    double left = 0;
    for (const float loss : losses) left += std::exp(static_cast<double>(loss));
    double probability = 1;
    for (const SampleId id : order) {
      const double weight = std::exp(static_cast<double>(losses[static_cast<std::size_t>(id)]));
      probability *= weight / left;
      left -= weight;
    }
    auto set = nearest_prefix(classes, order, budget);
    std::ranges::sort(set);
    probabilities[set] += probability;
  } while (std::ranges::next_permutation(order).found);
  return probabilities;
}

TEST(DrawTokens, IsSuccessiveSamplingUntilTheBudgetIsMet) {
  constexpr int Draws = times_tried(40'000);
  const std::vector<float> losses{0.5F, 2.0F, 0.0F, 1.0F, 1.5F};
  const ClassIndex classes =
      ClassIndex(std::vector<int>(5)).with_lengths(std::vector<int>{3, 5, 1, 8, 2});
  for (const std::int64_t budget : {1, 6, 11}) {
    std::map<std::vector<SampleId>, int> times;
    for (int i = 0; i < Draws; ++i) {
      const RandomStream stream(12, Purpose::Selection, i);
      ++times[draw_weighted(classes, {losses, 1.0}, Tokens{budget}, stream).ids()];
    }
    const auto expected = set_probabilities(classes, losses, budget);
    for (const auto& [set, seen] : times) EXPECT_TRUE(expected.contains(set));
    for (const auto& [set, p] : expected) {
      // Five standard errors: over the some fifty sets one false alarm in thirty thousand.
      EXPECT_NEAR(times[set], Draws * p, 5 * std::sqrt(Draws * p * (1 - p)) + 1)
          << budget << testing::PrintToString(set);
    }
  }
}

TEST(DrawTokens, HasChancesThatMakeSumsOverTokensUnbiased) {
  constexpr int Draws = times_tried(50'000);
  const std::vector<float> losses{0.1F, 2.0F, 0.3F, 1.0F, 1.5F, 0.8F, 2.5F, 0.2F};
  const std::vector<int> lengths{30, 5, 1, 80, 2, 40, 7, 20};
  const ClassIndex classes = ClassIndex(std::vector<int>(8)).with_lengths(lengths);
  double true_sum = 0;
  for (std::size_t i = 0; i < losses.size(); ++i)
    true_sum += lengths[i] * static_cast<double>(losses[i]);
  for (const double beta : {0.5, 2.0}) {
    double sum = 0;
    double squares = 0;
    for (int n = 0; n < Draws; ++n) {
      DrawScratch scratch;
      const RandomStream stream(13, Purpose::Selection, n);
      double estimate = 0;
      for (const SampleId id :
           draw_weighted(classes, {losses, beta}, Tokens{90}, stream, 1, &scratch).ids()) {
        const auto i = static_cast<std::size_t>(id);
        const double loss = losses[i];
        const double above = loss / beta - scratch.by_length.of(0, classes.length_of(id));
        estimate += lengths[i] * loss / -std::expm1(-std::exp(above));
      }
      sum += estimate;
      squares += estimate * estimate;
    }
    const double mean = sum / Draws;
    const double error = std::sqrt((squares / Draws - mean * mean) / Draws);
    EXPECT_NEAR(mean, true_sum, 5 * error) << beta;  // a false alarm in a million
    EXPECT_LT(error, 0.02 * true_sum);               // so that a bias of a tenth would be seen
  }
}

TEST(DrawTokens, DrawsFromCandidatesBesideWhatIsSpent) {
  // Of lengths 4, 3, 2, 1 with losses that rank them so, sample 1 is no candidate, and 4 tokens of
  // the budget of 7 are spent: 3 are left, 4 come, since 4 + 4 / 2 lies below 7.
  const ClassIndex classes =
      ClassIndex(std::vector<int>(4)).with_lengths(std::vector<int>{4, 3, 2, 1});
  const std::vector<float> losses{300, 200, 100, 0};
  SampleSet some = SampleSet::all(4);
  some.erase_present(1);
  const auto draw = [&](std::int64_t budget, std::int64_t spent) {
    const Tokens tokens{7}, already{spent};
    const Candidates from{&some, tokens, already};
    return draw_weighted(classes, {losses, 1.0}, Tokens{budget}, {1, Purpose::Selection, 0}, 1,
                         nullptr, &from)
        .ids();
  };
  EXPECT_THAT(draw(7, 4), ElementsAre(0));
  EXPECT_THAT(draw(9, 4), ElementsAre(0));      // and 8 + 2 / 2 is not below 9
  EXPECT_THAT(draw(10, 4), ElementsAre(0, 2));  // but it is below 10
  EXPECT_THAT(draw(5, 4), IsEmpty());           // 4 + 4 / 2 is not below 5
  EXPECT_THAT(draw(4, 4), IsEmpty());
  EXPECT_THAT(draw(1, 0), ElementsAre(0));  // at least one
}

TEST(TopScores, TakeThePrefixNearestToABudgetOfTokens) {
  // By score, ties to the lower id: lengths 5, 2, 4, 3.
  const std::vector<float> scores{1, 3, 2, 2};
  const std::vector<std::uint32_t> lengths{3, 5, 2, 4};
  const auto top = [&](std::int64_t tokens) { return top_scores(scores, tokens, lengths).ids(); };
  EXPECT_THAT(top(0), IsEmpty());
  EXPECT_THAT(top(1), ElementsAre(1));  // at least one
  EXPECT_THAT(top(6), ElementsAre(1));  // 5 and 7 are equally near
  EXPECT_THAT(top(7), ElementsAre(1, 2));
  EXPECT_THAT(top(9), ElementsAre(1, 2));
  EXPECT_THAT(top(10), ElementsAre(1, 2, 3));
  EXPECT_THAT(top(14), ElementsAre(0, 1, 2, 3));
}

TEST(ClassIndexWithLengths, CountsTokensInsteadOfSamples) {
  const ClassIndex classes =
      ClassIndex(std::vector<int>{0, 1, 0}).with_lengths(std::vector<int>{5, 7, 2});
  EXPECT_EQ(classes.token_count(), 14);
  EXPECT_THAT(classes.class_tokens(), ElementsAre(7, 7));
  EXPECT_THAT(classes.class_sizes(), ElementsAre(2, 1));
  EXPECT_THAT(classes.tokens_by_class(std::vector<SampleId>{0, 1}), ElementsAre(5, 7));
}

TEST(ClassIndexWithLengths, RefusesLengthsThatCountNothing) {
  const auto complaint = [](std::vector<int> labels, std::vector<std::int64_t> lengths) {
    return message_of<InvalidArgument>([&] { (void)ClassIndex(labels, 3).with_lengths(lengths); });
  };
  EXPECT_THAT(complaint({0, 1, 2}, {1, 2}), HasSubstr("2 for 3 samples"));
  EXPECT_THAT(complaint({0, 1, 2}, {1, 0, 2}), HasSubstr("that of sample 1 is 0"));
  EXPECT_THAT(complaint({0, 1, 2}, {1, 2, -3}), HasSubstr("that of sample 2 is -3"));
  EXPECT_THAT(complaint({0, 1, 2}, {1, std::int64_t{1} << 31, 1}),
              HasSubstr("between 1 and 2147483647"));
  EXPECT_THAT(complaint({0, 2, 2}, {1, 1, 1}), HasSubstr("class 1 has no sample"));
}

}  // namespace
}  // namespace rcap
