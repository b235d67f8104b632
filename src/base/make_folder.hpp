#pragma once

#include <filesystem>

namespace rcap {

/// Makes a folder for results, and those above it.
/// @throws BadFile  it cannot be made
void make_folder(const std::filesystem::path& path);

}  // namespace rcap
