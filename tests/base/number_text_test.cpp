#include "base/number_text.hpp"

#include <gtest/gtest.h>

namespace rcap {
namespace {

TEST(WithCommas, GroupsByThousands) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(4795), "4,795");
  EXPECT_EQ(with_commas(1281167), "1,281,167");
}

TEST(WithDecimals, RoundsToSoMany) {
  EXPECT_EQ(with_decimals(61.06, 1), "61.1");
  EXPECT_EQ(with_decimals(0, 1), "0.0");
  EXPECT_EQ(with_decimals(9.5, 0), "10");
}

TEST(WithDigits, LeavesOutZerosThatSayNothing) {
  EXPECT_EQ(with_digits(100, 3), "100");
  EXPECT_EQ(with_digits(0.5, 3), "0.5");
  EXPECT_EQ(with_digits(33.333, 3), "33.3");
}

TEST(AsFactor, HasNoMoreDigitsThanMatter) {
  EXPECT_EQ(as_factor(8), "8");
  EXPECT_EQ(as_factor(100.0 / 3), "33.3");
  EXPECT_EQ(as_factor(4558.6), "4,559");
}

TEST(AsPercent, HidesTheRoundingOfAProduct) {
  EXPECT_EQ(as_percent(0.9), "90 %");
  EXPECT_EQ(as_percent(0.57), "57 %");  // 100 * 0.57 is 56.99999999999999
  EXPECT_EQ(as_percent(0.125), "12.5 %");
}

}  // namespace
}  // namespace rcap
