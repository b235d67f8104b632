#pragma once

#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace rcap::cli {

/// Writes to standard error. What cannot be written, because a log is on a full disk or its reader
/// has gone, is lost; the work that it reports is not.
void tell_text(std::string_view text) noexcept;

template <class... T>
void tell(fmt::format_string<T...> text, T&&... values) {
  tell_text(fmt::format(text, std::forward<T>(values)...));
}

}  // namespace rcap::cli
