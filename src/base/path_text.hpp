#pragma once

#include <filesystem>
#include <string>

namespace rcap {

/// A path for a message: as it is, or on Windows, where names are UTF-16, as UTF-8.
inline std::string path_text(const std::filesystem::path& path) {
#ifdef _WIN32
  const std::u8string text = path.u8string();
  return {text.begin(), text.end()};
#else
  return path.string();
#endif
}

}  // namespace rcap
