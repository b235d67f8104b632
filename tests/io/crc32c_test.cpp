#include "io/crc32c.hpp"

#include <cstdint>
#include <span>
#include <string>

#include <gmock/gmock.h>

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

}  // namespace
}  // namespace rcap::io
