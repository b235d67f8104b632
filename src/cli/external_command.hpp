#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rcap::cli {

/// Commands that are programs of their own, `rcap-COMMAND` beside this one, as with git.
/// What needs LibTorch lives there, so that other commands do not wait for it to load.

/// The executable of a command, if there is one.
[[nodiscard]] std::optional<std::filesystem::path> find_external_command(
    const std::string& command);

/// The commands found beside this program, sorted.
[[nodiscard]] std::vector<std::string> external_commands();

/// Puts the executable in the place of this process.
/// @throws BadFile  if it cannot be started
[[noreturn]] void run_external_command(const std::filesystem::path& executable,
                                       std::span<const std::string> words);

}  // namespace rcap::cli
