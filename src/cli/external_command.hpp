#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rcap::cli {

/// Commands that are separate programs, `rcap-COMMAND` next to this one, as with git. What needs
/// LibTorch is there, so that other commands do not wait for it to load.

/// The executable of a command, if there is one.
[[nodiscard]] std::optional<std::filesystem::path> find_external_command(
    const std::string& command);

/// The commands found next to this program, sorted.
[[nodiscard]] std::vector<std::string> external_commands();

/// Replaces this process by the executable.
/// @throws BadFile  if it cannot be started
[[noreturn]] void run_external_command(const std::filesystem::path& executable,
                                       std::span<const std::string> words);

}  // namespace rcap::cli
