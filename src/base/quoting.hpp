#pragma once

#include <string>
#include <string_view>

namespace rcap {

/// A text from outside, fit for a message: in quotes, at most a line long, without anything that a
/// terminal obeys.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// The text with `by` wherever it has `what`.
[[nodiscard]] std::string replaced(std::string text, std::string_view what, std::string_view by);

}  // namespace rcap
