#include "core/inclusion.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>

#include "core/keys.hpp"

namespace rcap {
namespace {

std::vector<float> inverses_of(std::vector<float> x) {
  std::vector<InverseChance> inverses(x.size());
  inverse_chances(x.data(), x.size(), inverses.data());
  std::vector<float> values;
  for (const InverseChance inverse : inverses) values.push_back(inverse.value());
  return values;
}

TEST(InverseChance, KeepsANumberFromOneToTwoToThe64InTwoBytes) {
  EXPECT_EQ(InverseChance().value(), 1);
  double bias = 0;
  int count = 0;
  for (float value = 1; value < 0x1.ffp+63F; value *= 1.0037F) {
    const double error = InverseChance(value).value() / static_cast<double>(value) - 1;
    EXPECT_LE(std::abs(error), 0x1p-11) << value;
    bias += error;
    ++count;
  }
  EXPECT_NEAR(bias / count, 0, 1e-5);
}

TEST(InverseChances, HaveTheWorkedValues) {
  // Losses 0, 1, 2, beta 1, threshold 1.
  const std::vector<float> inverses = inverses_of({-1, 0, 1});
  EXPECT_NEAR(1 / inverses.at(0), 0.307799, 2e-4);
  EXPECT_NEAR(1 / inverses.at(1), 0.632121, 4e-4);
  EXPECT_NEAR(1 / inverses.at(2), 0.934012, 5e-4);
}

TEST(InverseChances, ArePreciseFromHardlyEverToAlways) {
  std::vector<float> x;
  for (float step = -44; step < 8; step += 0.0137F) x.push_back(step);
  const std::vector<float> inverses = inverses_of(x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = -1 / std::expm1(-std::exp(static_cast<double>(x[i])));
    EXPECT_NEAR(inverses[i], expected, 5e-4 * expected) << x[i];
  }
}

TEST(InverseChances, TakeWhatRoundingLeftBelowTheLeastForTheLeast) {
  const std::vector<float> inverses =
      inverses_of({-44, -45, -100, -3.9e11F, -std::numeric_limits<float>::infinity()});
  EXPECT_GT(inverses.front(), 1e19F);
  EXPECT_THAT(inverses, testing::Each(inverses.front()));
}

TEST(InverseChances, AreOneWhereAllOfAClassIsDrawn) {
  EXPECT_THAT(inverses_of({std::numeric_limits<float>::infinity(), 1e30F}), testing::Each(1.0F));
}

TEST(InverseChances, HaveTheSameBitsOnEveryMachine) {
  // Pinned. Basic operations in a fixed order: whatever compiler and vector width.
  const std::vector<float> x(37, -1.7F);
  EXPECT_THAT(inverses_of(x), testing::Each(0x1.7f4p+2F));
}

TEST(Powers, ArePreciseForEveryBaseAndExponent) {
  std::vector<InverseChance> bases;
  std::vector<float> exponents;
  for (float base = 1; base < 1e19F; base *= 1.31F) {
    for (const float exponent : {0.0F, 0.01F, 0.3F, 0.5F, 1.0F}) {
      bases.emplace_back(base);
      exponents.push_back(exponent);
    }
  }
  std::vector<float> results(bases.size());
  powers(bases.data(), exponents.data(), bases.size(), results.data());
  for (std::size_t i = 0; i < bases.size(); ++i) {
    const double expected =
        std::pow(static_cast<double>(bases[i].value()), static_cast<double>(exponents[i]));
    EXPECT_NEAR(results[i], expected, 4e-6 * expected) << bases[i].value() << " ^ " << exponents[i];
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
