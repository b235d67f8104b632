#pragma once

#include <filesystem>

namespace rcap {

/// Creates a folder for results, and its parents.
/// @throws BadFile  it cannot be created
void make_folder(const std::filesystem::path& path);

}  // namespace rcap
