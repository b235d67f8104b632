#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rcap {

/// @throws BadFile  the file cannot be read
[[nodiscard]] std::string read_text(const std::filesystem::path& path);

/// Replaces the file at once (`StagedFile`).
void write_text(const std::filesystem::path& path, std::string_view text);

/// The lines of a text, without their ends; a last line without an end is one being written
/// and is left out.
[[nodiscard]] std::vector<std::string> lines_of(std::string_view text);

}  // namespace rcap
