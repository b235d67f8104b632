#include "rcap/core/share_rules.hpp"

#include <cmath>
#include <limits>
#include <numeric>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/random_stream.hpp"

namespace rcap {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

using Counts = std::vector<std::int64_t>;
using Values = std::vector<double>;

auto near(double value, double bound = 5e-7) { return testing::DoubleNear(value, bound); }

/// 900, 90 and 10 samples, and a class without any.
const Counts FourSizes{900, 90, 0, 10};

WantedShares shares_by(ShareRule rule, const ShareOptions& options = {},
                       const Counts& sizes = FourSizes, std::int64_t keep_count = 128) {
  return {rule, options, sizes, keep_count};
}

TEST(PowerShare, IsTheSquareRootOfTheSizeUnlessAskedOtherwise) {
  // 30 : 3 : 0 : 1 for sizes 900, 9, 0 and 1.
  EXPECT_THAT(shares_by(ShareRule::Power, {}, {900, 9, 0, 1}).at(7),
              ElementsAre(near(30 / 34.0), near(3 / 34.0), 0, near(1 / 34.0)));
  EXPECT_THAT(shares_by(ShareRule::Power, {.size_power = 1}).at(0),
              ElementsAre(near(0.9), near(0.09), 0, near(0.01)));
  EXPECT_THAT(shares_by(ShareRule::Power, {.size_power = 0}).at(0),
              ElementsAre(near(1 / 3.0), near(1 / 3.0), 0, near(1 / 3.0)));
  // 1/900 : 1/90 : 1/10 = 1 : 10 : 90
  EXPECT_THAT(shares_by(ShareRule::Power, {.size_power = -1}).at(0),
              ElementsAre(near(1 / 101.0), near(10 / 101.0), 0, near(90 / 101.0)));
}

TEST(PowerShare, FollowsTheLastMeanLossesToTheirPower) {
  WantedShares wanted = shares_by(ShareRule::Power, {.size_power = 0, .loss_power = 2});
  EXPECT_THAT(wanted.at(0), ElementsAre(near(1 / 3.0), near(1 / 3.0), 0, near(1 / 3.0)));
  wanted.learn(Values{9, 9, 9, 9}, 0);
  wanted.learn(Values{1, 2, 99, 3}, 1);  // 1 : 4 : 9
  EXPECT_THAT(wanted.at(2), ElementsAre(near(1 / 14.0), near(4 / 14.0), 0, near(9 / 14.0)));
}

TEST(PowerShare, GivesNothingToAClassWithoutLossUnlessNoneHasAny) {
  WantedShares wanted = shares_by(ShareRule::Power, {.size_power = 1, .loss_power = 1});
  wanted.learn(Values{0, 1, 0, 9}, 0);  // 0 : 90 : 90
  EXPECT_THAT(wanted.at(1), ElementsAre(0, near(0.5), 0, near(0.5)));
  wanted.learn(Values{0, 0, 5, 0}, 1);
  EXPECT_THAT(wanted.at(2), ElementsAre(near(0.9), near(0.09), 0, near(0.01)));
}

TEST(ProgressiveShare, GoesFromTheSizesToEqualShares) {
  const WantedShares wanted = shares_by(ShareRule::Progressive, {.epochs = 10});
  EXPECT_THAT(wanted.at(0), ElementsAre(near(0.9), near(0.09), 0, near(0.01)));
  // 0.7 of the sizes and 0.3 of a third.
  EXPECT_THAT(wanted.at(3), ElementsAre(near(0.73), near(0.163), 0, near(0.107)));
  EXPECT_THAT(wanted.at(10), ElementsAre(near(1 / 3.0), near(1 / 3.0), 0, near(1 / 3.0)));
  EXPECT_EQ(wanted.at(1000), wanted.at(10));
}

TEST(EffectiveNumber, IsWhatOverlappingSamplesAreWorth) {
  // 1 + 1/2 + 1/4 + 1/8 + 1/16
  EXPECT_EQ(effective_number(5, 0.5), 1.9375);
  EXPECT_EQ(effective_number(1, 0.9999), 1);
  EXPECT_EQ(effective_number(2, 0.75), 1.75);
  EXPECT_EQ(effective_number(1'000'000, 0), 1);
  EXPECT_EQ(effective_number(1'000'000, 1), 1'000'000);
  EXPECT_NEAR(effective_number(1'000'000'000, 0.9999), 10'000, 1e-6);
  // (1 - 0.9999^5000) / 0.0001 by NumPy's expm1 and log1p
  EXPECT_NEAR(effective_number(5000, 0.9999), 3934.845044, 1e-6);
}

TEST(EffectiveNumber, KeepsItsDigitsWhereBetaIsNearOne) {
  // n - n (n - 1) / 2 * d + ... for beta = 1 - d
  const double beta = 1 - 0x1p-50;
  EXPECT_EQ(effective_number(3, beta), 3 - 3 * 0x1p-50);
}

TEST(EffectiveNumberShare, IsTheSizeOverTheEffectiveNumber) {
  // beta 1/2, sizes 1, 2 and 4: 1, 3/2, 15/8, so 1 : 4/3 : 32/15, or 15 : 20 : 32.
  const WantedShares wanted =
      shares_by(ShareRule::EffectiveNumber, {.effective_beta = 0.5}, {1, 2, 0, 4});
  EXPECT_THAT(wanted.at(0), ElementsAre(near(15 / 67.0), near(20 / 67.0), 0, near(32 / 67.0)));
  EXPECT_THAT(shares_by(ShareRule::EffectiveNumber, {.effective_beta = 1}).at(0),
              ElementsAre(near(1 / 3.0), near(1 / 3.0), 0, near(1 / 3.0)));
}

TEST(DeferredShare, ChangesFromTheSizesToTheEffectiveNumber) {
  const ShareOptions options{.effective_beta = 0.5, .epochs = 10};
  const Counts sizes{1, 2, 0, 4};
  const WantedShares wanted = shares_by(ShareRule::Deferred, options, sizes);
  EXPECT_THAT(wanted.at(7), ElementsAre(near(1 / 7.0), near(2 / 7.0), 0, near(4 / 7.0)));
  EXPECT_EQ(wanted.at(8), shares_by(ShareRule::EffectiveNumber, options, sizes).at(8));
  EXPECT_EQ(wanted.at(99), wanted.at(8));
}

TEST(DeferredShare, ChangesInTheEpochThatItsPartOfTheRunNames) {
  // 0.07 * 100 is 7.000000000000001, but seven epochs of 100 are a part of 0.07.
  const WantedShares wanted = shares_by(ShareRule::Deferred, {.defer_until = 0.07, .epochs = 100});
  EXPECT_EQ(wanted.at(6), wanted.at(0));
  EXPECT_NE(wanted.at(7), wanted.at(0));
}

TEST(GroupDroShare, GrowsByTheExponentialOfTheLoss) {
  WantedShares wanted = shares_by(ShareRule::GroupDro, {.eta = 0.5});
  EXPECT_THAT(wanted.at(0), ElementsAre(near(1 / 3.0), near(1 / 3.0), 0, near(1 / 3.0)));
  const double ln2 = std::log(2);
  wanted.learn(Values{0, 2 * ln2, 9, 4 * ln2}, 0);  // factors 1, 2 and 4
  EXPECT_THAT(wanted.at(1), ElementsAre(near(1 / 7.0), near(2 / 7.0), 0, near(4 / 7.0)));
  wanted.learn(Values{4 * ln2, 0, 9, 0}, 1);  // 4 : 2 : 4
  EXPECT_THAT(wanted.at(2), ElementsAre(near(0.4), near(0.2), 0, near(0.4)));
}

TEST(GroupDroShare, FavoursSmallClassesByTheAdjustment) {
  // ln 2 * 30 / sqrt(n): exponents of 2 are 1, 3 and 6 for sizes 900, 100 and 25.
  WantedShares wanted =
      shares_by(ShareRule::GroupDro, {.eta = 1, .adjustment = 30 * std::log(2)}, {900, 100, 0, 25});
  wanted.learn(Values{5, 5, 5, 5}, 0);
  EXPECT_THAT(wanted.at(1), ElementsAre(near(2 / 74.0), near(8 / 74.0), 0, near(64 / 74.0)));
}

TEST(DomainShare, GrowsByWhatExceedsTheReference) {
  const double ln2 = std::log(2);
  WantedShares wanted = shares_by(ShareRule::Domain, {.eta = 1, .reference_losses = {1, 1, 1, 1}});
  EXPECT_THAT(wanted.at(0), ElementsAre(near(1 / 3.0), near(1 / 3.0), 0, near(1 / 3.0)));
  // Factors 1 (below the reference), 2 and 4; then a ten-thousandth is spread evenly.
  wanted.learn(Values{0.5, 1 + ln2, 9, 1 + 2 * ln2}, 0);
  const auto mixed = [](double share) { return 0.9999 * share + 0.0001 / 3; };
  EXPECT_THAT(wanted.at(1),
              ElementsAre(near(mixed(1 / 7.0)), near(mixed(2 / 7.0)), 0, near(mixed(4 / 7.0))));
}

TEST(DomainShare, NeverForgetsAClass) {
  WantedShares wanted = shares_by(ShareRule::Domain, {.eta = 1, .reference_losses = {0, 0, 0, 0}});
  for (int epoch = 0; epoch < 9; ++epoch) wanted.learn(Values{0, 0, 0, 1e6}, epoch);
  EXPECT_THAT(wanted.at(9), ElementsAre(near(1e-4 / 3, 1e-10), near(1e-4 / 3, 1e-10), 0,
                                        near(0.9999 + 1e-4 / 3)));
  // And comes back within an epoch: its share was not lost in the logarithm.
  wanted.learn(Values{30, 0, 0, 0}, 9);
  EXPECT_GT(wanted.at(10)[0], 0.99);
}

TEST(BanditShare, ExploresLessAndLessAndFollowsRewards) {
  // Two classes, four turns an epoch. Turn 1: 1/2 each. Rewards 1 / (1/2) = 2 and 3 / (1/2) = 6
  // count a tenth: 0.2 and 0.6.
  WantedShares wanted = shares_by(ShareRule::Bandit, {.turns = 4}, {70, 0, 30});
  EXPECT_THAT(wanted.at(0), ElementsAre(0.5, 0, 0.5));
  wanted.learn(Values{1, 9, 3}, 0);
  // Turn 5: exploration sqrt(ln 2 / 10) = 0.2632769, in turn 4 sqrt(ln 2 / 8) = 0.2943525;
  // softmax(0.0588705, 0.1766115) = 0.4705987, 0.5294013.
  const double second = (1 - 2 * 0.2632769) * 0.5294013 + 0.2632769;
  EXPECT_THAT(wanted.at(1), ElementsAre(near(1 - second), 0, near(second)));
  // Rewards 1 / 0.4860815 and 1 / 0.5139185: 0.9 * 0.2 + 0.2057268, 0.9 * 0.6 + 0.1945834.
  wanted.learn(Values{1, 9, 1}, 1);
  // Turn 9: sqrt(ln 2 / 18) = 0.1962350, turn 8: sqrt(ln 2 / 16) = 0.2081386.
  const double odds = std::exp(0.2081386 * (0.7345834 - 0.3857268));
  const double third = (1 - 2 * 0.1962350) * odds / (1 + odds) + 0.1962350;
  EXPECT_THAT(wanted.at(2), ElementsAre(near(1 - third, 2e-6), 0, near(third, 2e-6)));
}

TEST(BanditShare, TakesABatchOf128ForATurn) {
  const Counts sizes{700, 300};
  WantedShares told = shares_by(ShareRule::Bandit, {.turns = 3}, sizes);
  WantedShares counted = shares_by(ShareRule::Bandit, {}, sizes, 300);
  told.learn(Values{1, 2}, 0);
  counted.learn(Values{1, 2}, 0);
  EXPECT_EQ(told.at(5), counted.at(5));
}

TEST(BanditShare, OfASingleClassIsOne) {
  WantedShares wanted = shares_by(ShareRule::Bandit, {}, {0, 8});
  wanted.learn(Values{0, 2}, -1);
  EXPECT_THAT(wanted.at(3), ElementsAre(0, 1));
}

/// A run of a rule by the formulas as they are printed, without logarithms and in extended
/// precision; for losses of usual size.
class PlainRun {
 public:
  PlainRun(ShareRule rule, const ShareOptions& options, const Counts& sizes)
      : rule_(rule), options_(options), sizes_(sizes), learnt_(sizes.size(), 1.0L) {
    if (rule == ShareRule::Bandit) learnt_.assign(sizes.size(), 0.0L);
    classes_ = static_cast<long double>(sizes.size());
  }

  void learn(const Values& losses, int epoch) {
    const auto shares = at(epoch);
    for (std::size_t j = 0; j < sizes_.size(); ++j) {
      const auto loss = static_cast<long double>(losses[j]);
      const long double eta = options_.eta;
      if (rule_ == ShareRule::GroupDro) {
        learnt_[j] *= std::exp(eta * (loss + options_.adjustment / std::sqrt(size(j))));
      } else if (rule_ == ShareRule::Domain) {
        const long double reference = options_.reference_losses[j];
        learnt_[j] *= std::exp(eta * std::max(0.0L, loss - reference));
      } else if (rule_ == ShareRule::Bandit) {
        learnt_[j] = 0.9L * learnt_[j] + 0.1L * loss / shares[j];
      } else {
        learnt_[j] = loss;
      }
    }
    if (rule_ != ShareRule::Domain) return;
    const long double sum = std::accumulate(learnt_.begin(), learnt_.end(), 0.0L);
    for (long double& share : learnt_) share = 0.9999L * share / sum + 0.0001L / classes_;
  }

  [[nodiscard]] std::vector<long double> at(int epoch) const {
    std::vector<long double> shares = learnt_;
    if (rule_ == ShareRule::Power) {
      for (std::size_t j = 0; j < shares.size(); ++j) {
        shares[j] = std::pow(size(j), static_cast<long double>(options_.size_power)) *
                    std::pow(shares[j], static_cast<long double>(options_.loss_power));
      }
    } else if (rule_ == ShareRule::Bandit) {
      const long double turn = 1 + static_cast<long double>(epoch * *options_.turns);
      for (long double& share : shares) share = std::exp(exploration(turn - 1) * share);
    }
    const long double sum = std::accumulate(shares.begin(), shares.end(), 0.0L);
    for (long double& share : shares) {
      share /= sum;
      if (rule_ != ShareRule::Bandit) continue;
      const long double least = exploration(1 + static_cast<long double>(epoch * *options_.turns));
      share = (1 - classes_ * least) * share + least;
    }
    return shares;
  }

 private:
  [[nodiscard]] long double size(std::size_t j) const {
    return static_cast<long double>(sizes_[j]);
  }
  [[nodiscard]] long double exploration(long double turn) const {
    if (turn == 0) return 1 / classes_;
    return std::min(1 / classes_, std::sqrt(std::log(classes_) / (classes_ * turn)));
  }

  ShareRule rule_;
  ShareOptions options_;
  Counts sizes_;
  std::vector<long double> learnt_;
  long double classes_ = 0;
};

TEST(WantedShares, AreThoseOfTheFormulasOverManyEpochs) {
  const Counts sizes{5000, 2997, 1796, 1077, 645, 387, 232, 139, 83, 50};
  ShareOptions options{
      .size_power = 0.3, .loss_power = 1.7, .eta = 0.4, .adjustment = 2, .turns = 9};
  for (std::size_t j = 0; j < sizes.size(); ++j) {
    options.reference_losses.push_back(0.1 * static_cast<double>(j));
  }
  for (const ShareRule rule :
       {ShareRule::Power, ShareRule::GroupDro, ShareRule::Domain, ShareRule::Bandit}) {
    SCOPED_TRACE(name_of(rule));
    WantedShares wanted = shares_by(rule, options, sizes);
    PlainRun plain(rule, options, sizes);
    for (int epoch = 0; epoch < 30; ++epoch) {
      const RandomStream random(5, Purpose::Synthetic, epoch);
      Values losses;
      for (SampleId j = 0; j < 10; ++j) losses.push_back(-std::log(random.uniform(j)));
      const auto expected = plain.at(epoch);
      const Values shares = wanted.at(epoch);
      for (std::size_t j = 0; j < sizes.size(); ++j) {
        // What is remembered has 24 bits, and their errors add up.
        EXPECT_NEAR(shares[j], static_cast<double>(expected[j]), 3e-6 * shares[j]) << epoch;
      }
      plain.learn(losses, epoch);
      wanted.learn(losses, epoch);
    }
  }
}

TEST(WantedShares, StayFiniteAndAddUpToOneWhateverTheLosses) {
  const Values huge{3e38, 0, 0, 1e-45};
  const Values tiny{1e-45, 1e-45, 0, 0};
  for (const ShareRule rule :
       {ShareRule::Power, ShareRule::GroupDro, ShareRule::Domain, ShareRule::Bandit}) {
    SCOPED_TRACE(name_of(rule));
    WantedShares wanted = shares_by(rule, {.size_power = -2,
                                           .loss_power = 10,
                                           .eta = 1e6,
                                           .adjustment = 1e6,
                                           .reference_losses = {0, 1e308, 0, 0}});
    for (int epoch = 0; epoch < 20; ++epoch) {
      wanted.learn(epoch % 3 == 0 ? tiny : huge, epoch);
      const Values shares = wanted.at(epoch + 1);
      EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-12);
      EXPECT_THAT(shares, Each(testing::Ge(0)));
      EXPECT_EQ(shares[2], 0);
    }
  }
}

TEST(WantedShares, ReadLossesWhereTheRuleDoes) {
  const auto reads = [](ShareRule rule, const ShareOptions& options = {}) {
    return reads_losses(rule, options);
  };
  EXPECT_FALSE(reads(ShareRule::Power));
  EXPECT_TRUE(reads(ShareRule::Power, {.loss_power = 0.1}));
  EXPECT_FALSE(reads(ShareRule::Progressive));
  EXPECT_FALSE(reads(ShareRule::EffectiveNumber));
  EXPECT_FALSE(reads(ShareRule::Deferred));
  EXPECT_TRUE(reads(ShareRule::GroupDro));
  EXPECT_TRUE(reads(ShareRule::Domain));
  EXPECT_TRUE(reads(ShareRule::Bandit));
}

TEST(WantedShares, AskForWhatTheirRuleNeeds) {
  const auto refusal = [](ShareRule rule, const ShareOptions& options) {
    return message_of<InvalidArgument>([&] { (void)shares_by(rule, options); });
  };
  EXPECT_EQ(refusal(ShareRule::Progressive, {}),
            "class_share progressive: epochs is missing; it follows the course of the run, so give "
            "the epochs of the whole run");
  EXPECT_THAT(refusal(ShareRule::Deferred, {}), HasSubstr("class_share deferred: epochs is miss"));
  EXPECT_EQ(refusal(ShareRule::Domain, {.reference_losses = {1, 2}}),
            "class_share domain: 2 reference_losses for 4 classes; give one per class");
}

}  // namespace
}  // namespace rcap
