#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rcap {

/// The name that was probably meant: the one with the fewest letters to insert, delete,
/// replace or swap with their neighbour, if no more than a third of the word must change.
/// Ties go to the first.
[[nodiscard]] std::optional<std::string> nearest_name(std::string_view word,
                                                      std::span<const std::string> names);

/// " (did you mean NAME?)" for the nearest name, or an empty string.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string> names);

}  // namespace rcap
