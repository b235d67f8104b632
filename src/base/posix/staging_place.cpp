#include "base/staging_place.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <sys/file.h>

#include "base/formatted.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

bool is_missing(int error) { return error == ENOENT || error == ENOTDIR; }

/// A process that writes a temporary file holds its lock, so one without a lock belongs to a dead
/// process.
bool take_lock(int file) {
  int result = 0;
  do {
    result = ::flock(file, LOCK_EX | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

bool is_removed(int file) {
  struct stat status {};
  return ::fstat(file, &status) == 0 && status.st_nlink == 0;
}

}  // namespace

int StagingPlace::open_folder() const {
  const int descriptor = ::open(folder_path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) {
    const int error = errno;
    refuse(formatted("{} \"{}\"", is_missing(error) ? "there is no folder" : "cannot open folder",
                     folder_path_.string()),
           error);
  }
  return descriptor;
}

void StagingPlace::check_old_file() const {
  struct stat old {};
  if (::fstatat(folder_.get(), name_.c_str(), &old, 0) == 0 && !S_ISREG(old.st_mode)) {
    refuse(formatted("{}; only regular files are replaced; choose another name",
                     describe_kind(old.st_mode)));
  }
}

int StagingPlace::create(const std::string& name) const noexcept {
  const int descriptor = ::openat(folder_.get(), name.c_str(),
                                  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (descriptor < 0) return descriptor;
  // A file system without locks keeps its leftovers. Until here the file had no lock, and another
  // process may have taken it for one.
  const bool is_taken = !take_lock(descriptor) && errno == EWOULDBLOCK;
  if (!is_taken && !is_removed(descriptor)) return descriptor;
  remove(name);
  close_file(descriptor);
  errno = EEXIST;
  return -1;
}

void StagingPlace::remove(const std::string& name) const noexcept {
  ::unlinkat(folder_.get(), name.c_str(), 0);
}

// The lock alone decides. The process in the name says nothing: in another container it cannot be
// seen, and one that was killed stays visible until its parent has noticed.
void StagingPlace::remove_leftovers(const TemporaryNames& names) const {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder_path_, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!names.include(name)) continue;
    const int file =
        ::openat(folder_.get(), name.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) continue;
    const FileHandle handle(file);
    if (take_lock(file)) remove(name);
  }
}

bool StagingPlace::publish(const std::string& name) const noexcept {
  return ::renameat(folder_.get(), name.c_str(), folder_.get(), name_.c_str()) == 0;
}

bool StagingPlace::sync() const noexcept {
  return sync_file(folder_.get()) == 0 || errno == EINVAL;  // EINVAL: it does not sync folders
}

bool StagingPlace::is_writable() const noexcept {
  return ::faccessat(folder_.get(), ".", W_OK | X_OK, 0) == 0;
}

}  // namespace rcap
