#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rcap {

/// How many bits of all words are set.
[[nodiscard]] std::int64_t count_bits(std::span<const std::uint64_t> words) noexcept;

/// The places of the set bits of a few words, in ascending order. A loop over them knows how
/// long it is; one that looks for the next bit guesses at the end of every word, and each
/// wrong guess costs the time of several samples.
class SetBits {
 public:
  static constexpr std::size_t MostWords = 16;

  /// @param words  at most `MostWords`; bit 0 of the first has place 0
  explicit SetBits(std::span<const std::uint64_t> words) noexcept;

  [[nodiscard]] const std::uint16_t* begin() const noexcept { return places_.data(); }
  [[nodiscard]] const std::uint16_t* end() const noexcept { return places_.data() + count_; }

 private:
  std::size_t count_;
  std::array<std::uint16_t, 64 * MostWords + 8> places_;
};

}  // namespace rcap
