#include "base/regular_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/formatted.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

timespec time_of_writing(const struct stat& status) noexcept {
#ifdef __APPLE__
  return status.st_mtimespec;
#else
  return status.st_mtim;
#endif
}

}  // namespace

// Opening a pipe would wait for a writer.
RegularFile::RegularFile(const std::filesystem::path& path, std::string_view where)
    : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  const auto refuse = [where](std::string_view what, int error) {
    throw BadFile(formatted("{}: {}: {}", where, what, describe_error(error)));
  };
  if (file_.get() < 0) refuse("cannot be opened", errno);
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) refuse("cannot be examined", errno);
  if (!S_ISREG(status.st_mode)) {
    throw BadFile(formatted("{}: {}", where, describe_kind(status.st_mode)));
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
  written_ = time_of_writing(status);
}

bool RegularFile::read(std::uint64_t offset, std::span<std::byte> bytes) const noexcept {
  while (!bytes.empty()) {
    const ssize_t size =
        ::pread(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(size));
    offset += static_cast<std::uint64_t>(size);
  }
  return true;
}

bool RegularFile::is_unchanged() const noexcept {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) return false;
  const timespec written = time_of_writing(status);
  return static_cast<std::uint64_t>(status.st_size) == size_ && written.tv_sec == written_.tv_sec &&
         written.tv_nsec == written_.tv_nsec;
}

}  // namespace rcap
