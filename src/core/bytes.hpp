#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "rcap/core/exchange.hpp"

namespace rcap {

/// Numbers and small structs as the bytes that ranks exchange. All ranks are little-endian and run
/// the same rcap.

template <class T>
[[nodiscard]] std::span<const std::byte> bytes_of(std::span<const T> values) {
  static_assert(std::is_trivially_copyable_v<T>);
  return std::as_bytes(values);
}

template <class T>
void append(RankBytes& bytes, std::span<const T> values) {
  const auto more = bytes_of(values);
  bytes.insert(bytes.end(), more.begin(), more.end());
}

template <class T>
[[nodiscard]] std::vector<T> values_of(std::span<const std::byte> bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

/// The values of all ranks, one after another.
template <class T>
[[nodiscard]] std::vector<T> gather_values(Exchange& exchange, std::span<const T> here) {
  std::vector<T> all;
  for (const RankBytes& bytes : exchange.all_gather(bytes_of(here))) {
    const std::vector<T> values = values_of<T>(bytes);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

}  // namespace rcap
