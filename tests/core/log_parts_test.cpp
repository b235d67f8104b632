#include "core/log_parts.hpp"

#include <cmath>

#include <gmock/gmock.h>

namespace rcap {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using Weights = std::vector<double>;

auto log_of(double part) { return DoubleNear(std::log(part), 1e-14); }

TEST(LogParts, AreThoseOfTheSum) {
  EXPECT_THAT(log_parts(Weights{2, 1, 5}), ElementsAre(log_of(0.25), log_of(0.125), log_of(0.625)));
  EXPECT_THAT(log_parts(Weights{3}), ElementsAre(0));
}

TEST(LogParts, CountHalfASampleWhereThereIsNothing) {
  // The sum is 16 without the halves.
  EXPECT_THAT(log_parts(Weights{12, 0, 4, 0}),
              ElementsAre(log_of(12.0 / 16), log_of(0.5 / 16), log_of(4.0 / 16), log_of(0.5 / 16)));
}

TEST(LogParts, AreLowestWhereThereIsNothingEvenBesideLessThanASample) {
  // Half of 0.4, not half a sample.
  EXPECT_THAT(log_parts(Weights{0, 0.4, 1.6}), ElementsAre(log_of(0.1), log_of(0.2), log_of(0.8)));
}

TEST(LogParts, AreFiniteForAnyWeights) {
  for (const double log : log_parts(Weights{1e-300, 1e300, 0})) EXPECT_TRUE(std::isfinite(log));
}

}  // namespace
}  // namespace rcap
