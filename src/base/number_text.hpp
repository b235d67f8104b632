#pragma once

#include <cstdint>
#include <string>

namespace rcap {

/// Numbers as a person reads them.

/// At least 0, with a comma between thousands: 14,886.
[[nodiscard]] std::string with_commas(std::int64_t number);
[[nodiscard]] std::string with_decimals(double number, int decimals);  ///< 61.1
[[nodiscard]] std::string with_digits(double number, int digits);      ///< 4.21e+03, 100, 0.5
/// How many times as large, above 0: 1.1, 33.3, 4,559.
[[nodiscard]] std::string as_factor(double factor);
/// A part of 1: 90 %, 12.5 %.
[[nodiscard]] std::string as_percent(double part);

}  // namespace rcap
