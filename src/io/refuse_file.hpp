#pragma once

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "rcap/core/error.hpp"

namespace rcap {

/// Says what is wrong with a file: "PATH: what", with the values in the braces of `what`.
/// @throws BadFile  always
template <class... T>
[[noreturn]] void refuse_file(const std::filesystem::path& path, fmt::format_string<T...> what,
                              T&&... values) {
  throw BadFile(
      fmt::format("{}: {}", path.string(), fmt::format(what, std::forward<T>(values)...)));
}

}  // namespace rcap
