#include "cli/staged_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "rcap/core/error.hpp"

namespace rcap::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t LargestWrite = std::size_t{1} << 30;

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

[[noreturn]] void throw_cannot_write(const fs::path& path, int error) {
  throw BadFile(fmt::format("{}: cannot be written: {}", path.string(), std::strerror(error)));
}

/// A file descriptor that closes itself.
class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags) : value_(::open(path.c_str(), flags, 0666)) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] int value() const noexcept { return value_; }
  /// Network file systems report a failed write only here.
  [[nodiscard]] bool close() noexcept { return ::close(std::exchange(value_, -1)) == 0; }

 private:
  int value_;
};

bool write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), std::min(bytes.size(), LargestWrite));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

StagedFile::StagedFile(fs::path path)
    : path_(std::move(path)),
      temporary_(folder_of(path_) /
                 fmt::format(".{}.{}.tmp", path_.filename().string(), ::getpid())) {}

StagedFile::~StagedFile() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove(temporary_, ignored);
}

void StagedFile::write(std::span<const std::span<const std::byte>> pieces) {
  Descriptor file(temporary_, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW);
  if (file.value() < 0) throw_cannot_write(path_, errno);
  for (const auto piece : pieces) {
    if (!write_all(file.value(), piece)) throw_cannot_write(path_, errno);
  }
  if (::fsync(file.value()) != 0 || !file.close()) throw_cannot_write(path_, errno);
}

void StagedFile::publish() {
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw_cannot_write(path_, errno);
  temporary_.clear();
  const Descriptor folder(folder_of(path_), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // Some file systems cannot sync a folder and say EINVAL; the file itself is safe.
  if (folder.value() >= 0 && ::fsync(folder.value()) != 0 && errno != EINVAL) {
    throw_cannot_write(path_, errno);
  }
}

void check_can_write(const fs::path& path) {
  const fs::path folder = folder_of(path);
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    throw BadFile(
        fmt::format("{}: there is no folder {}; make it first", path.string(), folder.string()));
  }
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) {
    throw BadFile(
        fmt::format("{}: is there and not a regular file; name another one", path.string()));
  }
  if (::access(folder.c_str(), W_OK | X_OK) != 0) throw_cannot_write(path, errno);
}

}  // namespace rcap::cli
