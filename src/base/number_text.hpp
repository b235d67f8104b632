#pragma once

#include <cstdint>
#include <string>

namespace rcap {

/// Numbers formatted for people.

/// Of a number >= 0, with a comma between thousands: 14,886.
[[nodiscard]] std::string with_commas(std::int64_t number);
[[nodiscard]] std::string with_decimals(double number, int decimals);  ///< 61.1
[[nodiscard]] std::string with_digits(double number, int digits);      ///< 4.21e+03, 100, 0.5
/// A ratio above 0: 1.1, 33.3, 4,559.
[[nodiscard]] std::string as_factor(double factor);
/// A fraction as a percentage: 90 %, 12.5 %.
[[nodiscard]] std::string as_percent(double part);

}  // namespace rcap
