#pragma once

#include <filesystem>
#include <string_view>

namespace rcap {

/// Says what is wrong with a file: "PATH: what".
/// @throws BadFile  always
[[noreturn]] void refuse_file(const std::filesystem::path& path, std::string_view what);

}  // namespace rcap
