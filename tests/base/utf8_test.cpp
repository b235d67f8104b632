#include "base/utf8.hpp"

#include <string>
#include <string_view>

#include <gmock/gmock.h>

namespace rcap {
namespace {

TEST(IsUtf8, AcceptsTheFirstAndLastOfEveryLength) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8(std::string("\x00\x7f", 2)));
  EXPECT_TRUE(is_utf8("\xc2\x80\xdf\xbf"));
  EXPECT_TRUE(is_utf8("\xe0\xa0\x80\xef\xbf\xbf"));
  EXPECT_TRUE(is_utf8("\xed\x9f\xbf\xee\x80\x80"));  // around the surrogates
  EXPECT_TRUE(is_utf8("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"));
}

TEST(IsUtf8, RefusesWhatIsNoShortestForm) {
  for (const std::string text :
       {"\x80", "\xff", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf",  // overlong
        "\xed\xa0\x80", "\xed\xbf\xbf",                                              // surrogates
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",                                      // too large
        "\xc2", "\xe0\xa0", "\xf0\x90\x80", "\xc2 ", "\xe0\xa0 ", "a\xc2"}) {        // cut short
    EXPECT_FALSE(is_utf8(text)) << testing::PrintToString(text);
  }
}

TEST(IsUtf8, LooksNoFurtherThanTheEnd) {
  const std::string_view euro = "\xe2\x82\xac";
  EXPECT_TRUE(is_utf8(euro));
  EXPECT_FALSE(is_utf8(euro.substr(0, 2)));  // what follows in memory would complete it
}

}  // namespace
}  // namespace rcap
