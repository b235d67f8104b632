#include "base/text_file.hpp"

#include <fstream>
#include <iterator>

#include "base/staged_file.hpp"
#include "rcap/core/error.hpp"

namespace rcap {

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file.is_open() || file.bad()) throw BadFile(path.string() + ": cannot be read");
  return text;
}

void write_text(const std::filesystem::path& path, std::string_view text) {
  StagedFile file(path);
  file.write(text.data(), text.size());
  file.publish();
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) break;
    lines.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace rcap
