#include "base/utf8.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace rcap {
namespace {

/// How many bytes follow this first byte; 4 if no character begins with it.
constexpr std::size_t tail_length(unsigned char first) noexcept {
  if (first < 0x80) return 0;
  if (first >= 0xC2 && first <= 0xDF) return 1;
  if (first >= 0xE0 && first <= 0xEF) return 2;
  return first >= 0xF0 && first <= 0xF4 ? 3 : 4;
}

/// The smallest value for that many tail bytes: anything smaller has a shorter form.
constexpr std::array<std::uint32_t, 4> SmallestValue = {0, 0x80, 0x800, 0x10000};

}  // namespace

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text[0]);
    const std::size_t tail = tail_length(first);
    if (tail > 3 || text.size() <= tail) return false;
    std::uint32_t value = tail == 0 ? first : first & (0x3FU >> tail);
    for (std::size_t i = 1; i <= tail; ++i) {
      const auto next = static_cast<unsigned char>(text[i]);
      if ((next & 0xC0U) != 0x80U) return false;
      value = value << 6U | (next & 0x3FU);
    }
    const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
    if (value < SmallestValue[tail] || value > 0x10FFFF || surrogate) return false;
    text.remove_prefix(tail + 1);
  }
  return true;
}

}  // namespace rcap
