#include "base/text_file.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include "base/file_handle.hpp"
#include "base/formatted.hpp"
#include "base/staged_file.hpp"
#include "rcap/core/error.hpp"

namespace rcap {

std::string read_text(const std::filesystem::path& path, std::size_t most_bytes) {
  const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 1 << 16> piece;
  while (true) {
    const ssize_t size = file.get() < 0 ? -1 : ::read(file.get(), piece.data(), piece.size());
    if (size < 0 && file.get() >= 0 && errno == EINTR) continue;
    if (size < 0) {
      throw BadFile(formatted("{}: cannot be read: {}", path.string(), describe_error(errno)));
    }
    if (size == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(size));
    if (text.size() > most_bytes) {
      throw BadFile(formatted("{}: has more than the {} bytes allowed for such a file",
                              path.string(), most_bytes));
    }
  }
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
