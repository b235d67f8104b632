#include "rcap/core/pruners/bandit_pruner.hpp"

#include <algorithm>

#include <gmock/gmock.h>

#include "core/all_methods.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;

using Ids = std::vector<SampleId>;
using Losses = std::vector<float>;

struct Step {
  float mean;
  float variance;
  float score;
};

/// What one sample is worth after losses 2.0, 1.0 and 0.5.
std::vector<Step> steps(const BanditOptions& options) {
  BanditPruner pruner(all_of_one_class(1), {.pruning_rate = 0}, options);
  std::vector<Step> result;
  std::int64_t epoch = 0;
  for (const float loss : {2.0F, 1.0F, 0.5F}) {
    pruner.select(epoch++);
    pruner.observe(Ids{0}, Losses{loss});
    const float variance = pruner.variances().empty() ? 0 : pruner.variances()[0];
    result.push_back({pruner.means()[0], variance, pruner.scores()[0]});
  }
  return result;
}

void expect_steps(const std::vector<Step>& found, const std::vector<Step>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i].mean, expected[i].mean, 1e-6F);
    EXPECT_NEAR(found[i].variance, expected[i].variance, 1e-6F);
    EXPECT_NEAR(found[i].score, expected[i].score, 1e-6F);
  }
}

TEST(Ucb, StartsAtTheFirstLoss) {
  expect_steps(steps(BanditOptions::ucb()),
               {{2, 3.2F, 5.2F}, {1.2F, 1.44F, 2.64F}, {.64F, .68F, 1.32F}});
}

TEST(Ucb, CanStartAtZero) {
  BanditOptions options = BanditOptions::ucb();
  options.start = BanditStart::Zero;
  expect_steps(steps(options),
               {{1.6F, 3.2F, 4.8F}, {1.12F, .928F, 2.048F}, {.624F, .49312F, 1.11712F}});
}

TEST(EpsilonGreedy, StartsAtOne) {
  expect_steps(steps(BanditOptions::epsilon_greedy()),
               {{1.8F, 0, 1.8F}, {1.16F, 0, 1.16F}, {.632F, 0, .632F}});
}

TEST(Ucb, KeepsTheHighestScores) {
  // First losses give score = loss + .8 loss^2, monotone in the loss.
  BanditPruner pruner(all_of_one_class(5), {.pruning_rate = 0.4}, BanditOptions::ucb());
  pruner.select(0);
  pruner.observe(Ids{0, 1, 2, 3, 4}, Losses{5.2F, 1.1F, 2.6F, 0.3F, 2.6F});
  EXPECT_THAT(pruner.select(1).ids, ElementsAre(0, 2, 4));
}

TEST(Ucb, SelectsAtEpochs1And11And21) {
  BanditPruner pruner(all_of_one_class(10), {.pruning_rate = 0.4}, BanditOptions::ucb());
  std::vector<Ids> selections;
  for (std::int64_t epoch = 0; epoch < 25; ++epoch) {
    selections.push_back(pruner.select(epoch).ids);
    Losses losses;
    // What is trained gets easy at once, so every new selection differs from the last.
    for (const SampleId id : selections.back()) {
      losses.push_back(epoch == 0 ? 1.0F + 0.1F * static_cast<float>(id) : 0.01F);
    }
    pruner.observe(selections.back(), losses);
  }
  EXPECT_EQ(selections.at(0).size(), 10U);
  Ids changes;
  for (std::size_t epoch = 1; epoch < 25; ++epoch) {
    EXPECT_EQ(selections.at(epoch).size(), 6U);
    if (selections.at(epoch) != selections.at(epoch - 1)) {
      changes.push_back(static_cast<SampleId>(epoch));
    }
  }
  EXPECT_THAT(changes, ElementsAre(1, 11, 21));
}

/// How many of the selection are not among the `keep_count` highest scores.
std::int64_t random_part(std::int64_t sample_count, double rate, double epsilon) {
  BanditOptions options = BanditOptions::epsilon_greedy();
  options.epsilon = epsilon;
  BanditPruner pruner(all_of_one_class(static_cast<std::size_t>(sample_count)),
                      {.pruning_rate = rate}, options);
  const Ids all = pruner.select(0).ids;
  Losses losses;
  for (const SampleId id : all) losses.push_back(static_cast<float>(id));
  pruner.observe(all, losses);
  const Ids ids = pruner.select(1).ids;
  EXPECT_EQ(static_cast<std::int64_t>(ids.size()), pruner.keep_count());
  // The highest scores are those of the highest ids; count the unbroken run at the end.
  std::int64_t greedy = 0;
  for (auto it = ids.rbegin(); it != ids.rend() && *it == sample_count - 1 - greedy; ++it) ++greedy;
  return pruner.keep_count() - greedy;
}

TEST(EpsilonGreedy, GivesATruncatedPartToChance) {
  EXPECT_EQ(random_part(50'000, 0.9, 0.1), 500);
  EXPECT_EQ(random_part(30, 0.9, 0.1), 0);
  EXPECT_EQ(random_part(50, 0.9, 0.2), 1);
  // .29 * 100 is 28.999999999999996 in floating point.
  EXPECT_EQ(random_part(1000, 0.9, 0.29), 29);
}

}  // namespace
}  // namespace rcap
