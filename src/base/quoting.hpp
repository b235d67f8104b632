#pragma once

#include <string>
#include <string_view>

namespace rcap {

/// A text from outside, fit for a message: in quotes, at most a line long, without anything that a
/// terminal obeys.
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace rcap
