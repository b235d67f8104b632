#include "base/read_number.hpp"

#include <cmath>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace rcap {
namespace {

#ifdef __cpp_lib_to_chars

// The standard's own function is the measure.
void expect_read_alike(const std::string& text) {
  SCOPED_TRACE(testing::PrintToString(text));
  double expected = -7;
  double found = -7;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), expected);
  const auto [found_end, found_error] = read_double_with_c(text, found);
  EXPECT_EQ(found_end, end);
  EXPECT_EQ(found_error, error);
  EXPECT_TRUE(found == expected || (std::isnan(found) && std::isnan(expected)));
}

TEST(ReadDoubleWithC, ReadsWhatTheStandardReads) {
  for (const char* text :
       {"0",   "-0",   "0.1", "-2.5e-3", "1e308", "1e309",  "-1e309", "4.9e-324", "1e-400",
        "inf", "-inf", "nan", "",        "-",     "--1",    "+1",     "-+1",      " 1",
        "\t1", "1 ",   "1,5", "1.5.2",   "0x10",  "-0X1p3", "0x",     "x1",       "1x",
        "1e",  "1e+",  ".5",  "5.",      ".",     "word",   "1_000"}) {
    expect_read_alike(text);
  }
}

TEST(ReadDoubleWithC, ReadsRandomWordsAlike) {
  constexpr std::string_view Letters = "0123456789.eE+-xnaif ";
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string text(random() % 8, ' ');
    for (char& letter : text) letter = Letters[random() % Letters.size()];
    expect_read_alike(text);
  }
}

#endif

TEST(ReadNumber, LeavesTheNumberWhereThereIsNone) {
  double number = 3;
  EXPECT_EQ(read_number("none", number).ec, std::errc::invalid_argument);
  EXPECT_EQ(number, 3);
}

}  // namespace
}  // namespace rcap
