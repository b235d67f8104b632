#include "core/inclusion.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>

#include "core/keys.hpp"

namespace rcap {
namespace {

std::vector<float> inverses_of(const std::vector<float>& x) {
  std::vector<float> inverses(x.size());
  inverse_chances(x.data(), x.size(), inverses.data());
  return inverses;
}

TEST(InverseChances, HaveTheWorkedValues) {
  // Losses 0, 1, 2, beta 1, threshold 1.
  const std::vector<float> inverses = inverses_of({-1, 0, 1});
  EXPECT_NEAR(1 / inverses.at(0), 0.307799, 1e-6);
  EXPECT_NEAR(1 / inverses.at(1), 0.632121, 1e-6);
  EXPECT_NEAR(1 / inverses.at(2), 0.934012, 1e-6);
}

TEST(InverseChances, ArePreciseFromHardlyEverToAlways) {
  std::vector<float> x;
  for (float step = -45; step < 8; step += 0.0137F) x.push_back(step);
  const std::vector<float> inverses = inverses_of(x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = -1 / std::expm1(-std::exp(static_cast<double>(x[i])));
    EXPECT_NEAR(inverses[i], expected, 1e-6 * expected) << x[i];
  }
}

TEST(InverseChances, AreOneWhereAllOfAClassIsDrawn) {
  EXPECT_THAT(inverses_of({std::numeric_limits<float>::infinity(), 1e30F}), testing::Each(1.0F));
}

TEST(InverseChances, HaveTheSameBitsOnEveryMachine) {
  // Pinned. Basic operations in a fixed order: whatever compiler and vector width.
  const std::vector<float> x(37, -1.7F);
  EXPECT_THAT(inverses_of(x), testing::Each(0x1.7f4e72p+2F));
}

TEST(Powers, ArePreciseForEveryBaseAndExponent) {
  std::vector<float> bases, exponents;
  for (float base = 1; base < 1e20F; base *= 1.31F) {
    for (const float exponent : {0.0F, 0.01F, 0.3F, 0.5F, 1.0F}) {
      bases.push_back(base);
      exponents.push_back(exponent);
    }
  }
  std::vector<float> results(bases.size());
  powers(bases.data(), exponents.data(), bases.size(), results.data());
  for (std::size_t i = 0; i < bases.size(); ++i) {
    const double expected =
        std::pow(static_cast<double>(bases[i]), static_cast<double>(exponents[i]));
    EXPECT_NEAR(results[i], expected, 4e-6 * expected) << bases[i] << " ^ " << exponents[i];
  }
}

TEST(ExactPower, IsPreciseForEveryBaseAndExponent) {
  for (const double base : {1e-300, 1e-9, 0.3, 1.0, 7.0, 1e12, 1e300}) {
    for (const double exponent : {0.0, 1e-3, 0.5, 2.0 / 3, 0.99, 1.0}) {
      const double expected = std::pow(base, exponent);
      EXPECT_NEAR(exact_power(base, exponent), expected, 1e-12 * expected)
          << base << " ^ " << exponent;
    }
  }
  EXPECT_EQ(exact_power(0, 0.5), 0);
  EXPECT_EQ(exact_power(0, 0.7), 0);
  EXPECT_EQ(exact_power(0, 0), 1);
}

TEST(ExactLog, IsPrecise) {
  for (const double x : {1e-300, 0.5, 0.999, 1.0, 1.001, 3.0, 1e300}) {
    EXPECT_NEAR(exact_log(x), std::log(x), 4e-16 * std::max(1.0, std::abs(std::log(x)))) << x;
  }
}

}  // namespace
}  // namespace rcap
