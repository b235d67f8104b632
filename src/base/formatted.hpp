#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace rcap {

/// One value of a message.
using FormatValue =
    std::variant<bool, std::int64_t, std::uint64_t, float, double, std::string_view>;

/// The pattern with its braces filled in: {} a value, {:016x} sixteen hexadecimal digits, {:?} a
/// string in quotes. A small subset of {fmt}, so that the core needs only a compiler; GCC 12 has no
/// <format>.
/// @throws InternalError  braces and values do not match
[[nodiscard]] std::string format_values(std::string_view pattern,
                                        std::span<const FormatValue> values);

namespace detail {

template <class T>
FormatValue format_value(const T& value) {
  if constexpr (std::same_as<T, bool> || std::same_as<T, float> || std::same_as<T, double>) {
    return value;
  } else if constexpr (std::signed_integral<T>) {
    return static_cast<std::int64_t>(value);
  } else if constexpr (std::unsigned_integral<T>) {
    return static_cast<std::uint64_t>(value);
  } else {
    return std::string_view(value);
  }
}

}  // namespace detail

/// A message: `formatted("beta is {}; it must be positive", beta)`.
template <class... T>
[[nodiscard]] std::string formatted(std::string_view pattern, const T&... values) {
  const std::array<FormatValue, sizeof...(T)> list{detail::format_value(values)...};
  return format_values(pattern, list);
}

}  // namespace rcap
