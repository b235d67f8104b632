#include "core/temperature.hpp"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>

#include "rcap/core/random_stream.hpp"

namespace rcap {
namespace {

using Losses = std::vector<float>;

/// Losses as they are after some epochs: most small, those never drawn at about 2.3.
struct SomeLosses {
  std::vector<int> labels;
  Losses losses;

  explicit SomeLosses(float scale = 1) {
    const RandomStream random(4, Purpose::Synthetic, 0);
    for (SampleId id = 0; id < 6000; ++id) {
      labels.push_back(static_cast<int>(id % 3));
      const double u = random.uniform(id);
      const double loss = random.uniform(id + 6000) < 0.4 ? 2.3 + 0.2 * u : -0.5 * std::log(u);
      losses.push_back(scale * static_cast<float>(loss));
    }
  }
};

/// The definition, sample by sample.
double effective_part(const ClassIndex& classes, const Losses& losses, double beta) {
  const auto class_count = static_cast<std::size_t>(classes.class_count());
  std::vector<double> sums(class_count), squares(class_count);
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const auto j = static_cast<std::size_t>(classes.class_of(static_cast<SampleId>(i)));
    const double weight = std::exp(static_cast<double>(losses[i]) / beta);
    sums[j] += weight;
    squares[j] += weight * weight;
  }
  double mean = 0;
  for (std::size_t j = 0; j < class_count; ++j) {
    mean += sums[j] * sums[j] / squares[j] / static_cast<double>(classes.class_sizes()[j]);
  }
  return mean / static_cast<double>(class_count);
}

TEST(BalancedBeta, MakesADrawWorthHalfOfTheClasses) {
  const SomeLosses data;
  const ClassIndex classes(data.labels);
  const double beta = balanced_beta(classes, data.losses);
  EXPECT_NEAR(effective_part(classes, data.losses, beta), 0.5, 0.005);
}

TEST(BalancedBeta, FollowsTheScaleOfLosses) {
  const SomeLosses plain, tenfold(10), tenth(0.1F);
  const ClassIndex classes(plain.labels);
  const double beta = balanced_beta(classes, plain.losses);
  EXPECT_NEAR(balanced_beta(classes, tenfold.losses), 10 * beta, 0.02 * 10 * beta);
  EXPECT_NEAR(balanced_beta(classes, tenth.losses), 0.1 * beta, 0.02 * 0.1 * beta);
}

TEST(BalancedBeta, IsHighestWhereAllLossesOfAClassAreEqual) {
  const ClassIndex classes(std::vector<int>{0, 0, 1, 1}, 4);  // two classes are empty
  EXPECT_EQ(balanced_beta(classes, Losses{1, 1, 7, 7}), 1000);
  EXPECT_EQ(balanced_beta(classes, Losses{0, 0, 0, 0}), 1000);
}

TEST(BalancedBeta, LooksAtClassesThatDifferInside) {
  const ClassIndex classes(std::vector<int>{0, 0, 1, 1});
  const double beta = balanced_beta(classes, Losses{0, 1, 5, 5});
  // Class 1 is whole at any temperature and no draw of two is worth less than a half: no
  // temperature is too low.
  EXPECT_LT(beta, 0.0011);
}

TEST(BalancedBeta, StaysWithinItsRangeForAnyLosses) {
  const ClassIndex classes(std::vector<int>{0, 0, 0, 0, 0});
  for (const float scale : {0.0F, 1e-38F, 1e-6F, 1.0F, 1e6F, 1e38F}) {
    const double beta = balanced_beta(classes, Losses{0, scale, 2 * scale, 3 * scale, scale});
    EXPECT_GE(beta, 1e-3) << scale;
    EXPECT_LE(beta, 1e3) << scale;
  }
}

}  // namespace
}  // namespace rcap
