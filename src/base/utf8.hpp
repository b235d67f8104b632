#pragma once

#include <string_view>

namespace rcap {

/// Whether `text` is UTF-8 without overlong forms, surrogates or values above U+10FFFF: what
/// JSON and protobuf readers accept as a string.
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

}  // namespace rcap
