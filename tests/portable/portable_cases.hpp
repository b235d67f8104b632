#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

/// Cases whose results have to be the same bits on every processor, by every compiler and with
/// every standard library. What goes into them is made of integers and single roundings alone, so
/// that no library function decides about the input.
namespace rcap::portable {

inline constexpr int CaseCount = 2400;

/// What a case produced, each part as a hash of its bytes.
struct Digest {
  static constexpr std::array<std::string_view, 4> Parts{"selections", "orders", "weights",
                                                         "state or scores"};
  std::array<std::uint64_t, 4> parts{};

  bool operator==(const Digest&) const = default;
};

struct Case {
  std::string what;  ///< what was run, in words
  Digest digest;
};

/// Runs a case.
/// @param number  from 0 to CaseCount - 1
[[nodiscard]] Case run_case(int number);

}  // namespace rcap::portable
