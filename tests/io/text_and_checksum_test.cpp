// The two private helpers of rcap::io that have an answer from outside.
#include <string>
#include <string_view>

#include <gmock/gmock.h>

#include "io/crc32c.hpp"
#include "io/utf8.hpp"

namespace rcap::io {
namespace {

std::uint32_t crc32c_of(const std::string& text) { return crc32c(std::as_bytes(std::span(text))); }

TEST(Crc32c, GivesTheValuesOfRfc3720) {
  // RFC 3720, B.4, and the check value of every CRC catalogue.
  EXPECT_EQ(crc32c_of(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c_of(std::string(32, '\xff')), 0x62A8AB43U);
  EXPECT_EQ(crc32c_of("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c_of(""), 0U);
}

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
}  // namespace rcap::io
