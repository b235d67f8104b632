#include "cli/external_command.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "rcap/core/error.hpp"

namespace rcap::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view Prefix = "rcap-";

/// Letters, digits and dashes only, so that a command never leaves the folder.
bool is_command_name(std::string_view name) {
  return !name.empty() &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos;
}

bool is_executable(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

fs::path own_folder() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path();
}

}  // namespace

std::optional<fs::path> find_external_command(const std::string& command) {
  if (!is_command_name(command)) return std::nullopt;
  const fs::path executable = own_folder() / (std::string(Prefix) + command);
  return is_executable(executable) ? std::optional(executable) : std::nullopt;
}

std::vector<std::string> external_commands() {
  std::vector<std::string> commands;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(own_folder(), error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(Prefix)) continue;
    const std::string command = name.substr(Prefix.size());
    if (is_command_name(command) && is_executable(entry.path())) commands.push_back(command);
  }
  std::sort(commands.begin(), commands.end());
  return commands;
}

void run_external_command(const fs::path& executable, std::span<const std::string> words) {
  std::vector<std::string> storage{executable.string()};
  storage.insert(storage.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : storage) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(executable.c_str(), arguments.data());
  throw BadFile(
      fmt::format("{}: cannot be started: {}", executable.string(), std::strerror(errno)));
}

}  // namespace rcap::cli
