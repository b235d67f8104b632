#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace rcap {

/// All that a file holds.
inline std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace rcap
