#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rcap {

/// @throws BadFile  the file cannot be read, or has more than `most_bytes` (a device may be
///                  endless)
[[nodiscard]] std::string read_text(const std::filesystem::path& path,
                                    std::size_t most_bytes = SIZE_MAX);

/// Replaces the file atomically (`StagedFile`).
void write_text(const std::filesystem::path& path, std::string_view text);

/// The lines of a text, without their line ends. A last line without an end is still being written
/// and is left out.
[[nodiscard]] std::vector<std::string> lines_of(std::string_view text);

}  // namespace rcap
