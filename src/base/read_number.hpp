#pragma once

#include <charconv>
#include <string_view>
#include <version>

namespace rcap {

/// What `std::from_chars` does for a double, by means of C: for standard libraries without it.
[[nodiscard]] std::from_chars_result read_double_with_c(std::string_view text, double& value);

/// `std::from_chars`.
template <class Number>
[[nodiscard]] std::from_chars_result read_number(std::string_view text, Number& value) {
  return std::from_chars(text.data(), text.data() + text.size(), value);
}

#ifndef __cpp_lib_to_chars  // libc++ before version 20 has it for whole numbers alone
template <>
[[nodiscard]] inline std::from_chars_result read_number(std::string_view text, double& value) {
  return read_double_with_c(text, value);
}
#endif

}  // namespace rcap
