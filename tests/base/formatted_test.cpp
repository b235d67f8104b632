#include "base/formatted.hpp"

#include <limits>

#include <gtest/gtest.h>

#include "rcap/core/error.hpp"

namespace rcap {
namespace {

TEST(Formatted, FillsBracesInTheirOrder) {
  EXPECT_EQ(formatted("{} of {}: {}", 3, std::uint64_t{4}, "x"), "3 of 4: x");
  EXPECT_EQ(formatted("no value"), "no value");
  EXPECT_EQ(formatted("{}", true), "true");
}

TEST(Formatted, WritesTheShortestDigitsOfANumber) {
  EXPECT_EQ(formatted("{} {} {}", 0.1, 0.1F, 1.0), "0.1 0.1 1");
  EXPECT_EQ(formatted("{} {} {}", 100000.0, 0.0001, -2.5), "100000 0.0001 -2.5");
  EXPECT_EQ(formatted("{} {}", 1e30, 1e-5), "1e+30 1e-05");
  constexpr double Nothing = std::numeric_limits<double>::quiet_NaN();
  constexpr double Endless = std::numeric_limits<double>::infinity();
  EXPECT_EQ(formatted("{} {} {}", Nothing, Endless, -Endless), "nan inf -inf");
}

TEST(Formatted, WritesSixteenHexadecimalDigits) {
  EXPECT_EQ(formatted("{:016x}", std::uint64_t{0xab}), "00000000000000ab");
}

TEST(Formatted, QuotesText) {
  EXPECT_EQ(formatted("{:?}", std::string_view("a\"b\\c\x01")), "\"a\\\"b\\\\c\\x01\"");
}

TEST(Formatted, TellsWhenBracesAndValuesDoNotMatch) {
  EXPECT_THROW((void)formatted("{} {}", 1), InternalError);
  EXPECT_THROW((void)formatted("{:>5}", 1), InternalError);
}

}  // namespace
}  // namespace rcap
