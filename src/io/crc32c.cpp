#include "io/crc32c.hpp"

#include <array>

namespace rcap::io {
namespace {

constexpr std::uint32_t Polynomial = 0x82F63B78U;

/// The result of eight steps of the shift register for each byte.
constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1U ^ ((value & 1U) != 0 ? Polynomial : 0U);
    table[byte] = value;
  }
  return table;
}

constexpr auto Table = make_table();

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept {
  std::uint32_t value = ~0U;
  for (const std::byte byte : bytes) {
    value = value >> 8U ^ Table[(value ^ std::to_integer<std::uint32_t>(byte)) & 0xFFU];
  }
  return ~value;
}

}  // namespace rcap::io
