#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace rcap {

/// Text from outside, made fit for a message: in quotes, at most one line long, without control
/// characters that a terminal would obey.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// The text with every `what` replaced by `by`.
[[nodiscard]] std::string replaced(std::string text, std::string_view what, std::string_view by);

/// The first `most` of some names, for a message: "a, b, c", with " ..." if there are more.
[[nodiscard]] std::string first_few(std::span<const std::string> names, std::size_t most,
                                    std::string_view between = ", ");

}  // namespace rcap
