#include "core/set_bits.hpp"

#include <bit>
#include <cstring>

#include "core/vector_clones.hpp"

namespace rcap {
namespace {

/// The places of the bits of each byte, the first `popcount` of them meant.
constexpr auto PlacesOfByte = [] {
  std::array<std::array<std::uint16_t, 8>, 256> table{};
  for (std::size_t byte = 0; byte < table.size(); ++byte) {
    std::size_t count = 0;
    for (std::uint16_t bit = 0; bit < 8; ++bit) {
      if ((byte >> bit) & 1) table[byte][count++] = bit;
    }
  }
  return table;
}();

/// Eight numbers in one register; the compiler does not find this form on its own.
using Eight [[gnu::vector_size(16)]] = std::uint16_t;

/// Writes up to 8 places more than it returns.
RCAP_VECTOR_CLONES
std::size_t list_places(const std::uint64_t* words, std::size_t word_count, std::uint16_t* places) {
  std::uint16_t* out = places;
  Eight first{};  // the place of the first bit of the byte
  for (std::size_t word = 0; word < word_count; ++word) {
    std::uint64_t rest = words[word];
    for (std::size_t byte = 0; byte < 8; ++byte) {
      const auto bits = static_cast<std::uint8_t>(rest);
      rest >>= 8;
      Eight eight;
      std::memcpy(&eight, PlacesOfByte[bits].data(), sizeof eight);
      eight += first;
      std::memcpy(out, &eight, sizeof eight);
      out += std::popcount(bits);
      first += 8;
    }
  }
  return static_cast<std::size_t>(out - places);
}

}  // namespace

RCAP_VECTOR_CLONES
std::int64_t count_bits(std::span<const std::uint64_t> words) noexcept {
  std::int64_t bits = 0;
  for (const std::uint64_t word : words) bits += std::popcount(word);
  return bits;
}

SetBits::SetBits(std::span<const std::uint64_t> words) noexcept {
  count_ = list_places(words.data(), words.size(), places_.data());
}

}  // namespace rcap
