#pragma once

#include <bit>
#include <cstdint>

#include "rcap/core/export.hpp"

RCAP_API_BEGIN
namespace rcap {

/// One over the probability that a sample was drawn: how many samples of its class it stands for.
/// From 1 to 2^64 in two bytes, 6 bits of exponent and 10 of mantissa: rounded by at most 0.05 %,
/// up as often as down.
class InverseChance {
 public:
  constexpr InverseChance() = default;
  /// @param value  from 1 to below 2^64
  constexpr explicit InverseChance(float value)
      : code_(static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(value) - One + Half) >>
                                         Dropped)) {}

  [[nodiscard]] constexpr float value() const {
    return std::bit_cast<float>((std::uint32_t{code_} << Dropped) + One);
  }
  bool operator==(const InverseChance&) const = default;

 private:
  static constexpr int Dropped = 13;  ///< the lowest bits of a float
  static constexpr std::uint32_t Half = 1U << (Dropped - 1);
  static constexpr std::uint32_t One = 0x3f800000;  ///< the bits of 1.0F

  std::uint16_t code_ = 0;
};
static_assert(sizeof(InverseChance) == 2);

}  // namespace rcap
RCAP_API_END
