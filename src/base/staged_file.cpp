#include "base/staged_file.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <fcntl.h>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <sys/file.h>

#include "base/file_handle.hpp"
#include "base/formatted.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t BufferBytes = std::size_t{1} << 20;
/// Some systems refuse more than 2 GiB at once.
constexpr std::size_t LargestWrite = std::size_t{1} << 30;
/// A file name has at most 255 bytes; they must hold this and the marks of a temporary file.
constexpr std::size_t LongestNameRepeated = 200;
constexpr int LastAttempt = 9999;

bool is_missing(int error) { return error == ENOENT || error == ENOTDIR; }

std::string_view advice_for(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "free some space";
    case ENOENT:
    case ENOTDIR:
      return "create the folder first";
    case EACCES:
    case EPERM:
    case EROFS:
      return "choose a folder that you can read and write";
    default:
      return "a file that existed before is unchanged";
  }
}

/// A path at which a file may be placed: its folder is open, and what is there, if anything, is a
/// regular file or a link to one.
class Target {
 public:
  Target(const fs::path& path, std::string_view operation)
      : where_(operation.empty() ? path.string()
                                 : formatted("{} \"{}\"", operation, path.string())),
        folder_path_(path.has_parent_path() ? path.parent_path() : fs::path(".")),
        name_(path.filename().string()),
        folder_(open_folder()) {
    struct stat old {};
    if (::fstatat(folder(), name_.c_str(), &old, 0) == 0 && !S_ISREG(old.st_mode)) {
      refuse(formatted("{}; only regular files are replaced; choose another name",
                       describe_kind(old.st_mode)));
    }
    if (name_.empty()) refuse("does not name a file; give a file name");
  }

  [[nodiscard]] int folder() const noexcept { return folder_.get(); }
  [[nodiscard]] const fs::path& folder_path() const noexcept { return folder_path_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::string& where() const noexcept { return where_; }

  [[noreturn]] void refuse(std::string_view what) const {
    throw BadFile(formatted("{}: {}", where_, what));
  }
  [[noreturn]] void refuse(std::string_view what, int error) const {
    refuse(formatted("{}: {}; {}", what, describe_error(error), advice_for(error)));
  }

 private:
  [[nodiscard]] int open_folder() const {
    const int descriptor = ::open(folder_path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) {
      const int error = errno;
      refuse(formatted("{} \"{}\"", is_missing(error) ? "there is no folder" : "cannot open folder",
                       folder_path_.string()),
             error);
    }
    return descriptor;
  }

  std::string where_;
  fs::path folder_path_;
  std::string name_;
  FileHandle folder_;
};

/// The names a file has before it is published: `.NAME.<process>-<number>.tmp`.
class TemporaryNames {
 public:
  explicit TemporaryNames(const std::string& name)
      : start_(formatted(".{}.", name.size() <= LongestNameRepeated ? name : "rcap")) {}

  [[nodiscard]] std::string make(int number) const {
    return formatted("{}{}-{}{}", start_, ::getpid(), number, End);
  }

  /// @return the process that made a file of this name; empty if it is not one of ours
  [[nodiscard]] std::optional<pid_t> process_of(std::string_view name) const {
    if (!name.starts_with(start_) || !name.ends_with(End)) return std::nullopt;
    name.remove_prefix(start_.size());
    pid_t process = 0;
    const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), process);
    const bool is_ours = error == std::errc() && process > 0 && *rest == '-';
    return is_ours ? std::optional(process) : std::nullopt;
  }

 private:
  static constexpr std::string_view End = ".tmp";

  std::string start_;
};

int sync_descriptor(int descriptor) {
  int result = 0;
  do {
    result = ::fsync(descriptor);
  } while (result != 0 && errno == EINTR);
  return result;
}

/// A process that writes a temporary file holds its lock, so one without a lock belongs to a dead
/// process.
bool take_lock(int file) { return ::flock(file, LOCK_EX | LOCK_NB) == 0; }

/// Removes what killed processes left of this file. Not every file system supports locks, and
/// processes in another container cannot be seen, so both the process number and the lock must be
/// free.
void remove_leftovers(const Target& target, const TemporaryNames& names) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(target.folder_path(), ignored)) {
    const std::string name = entry.path().filename().string();
    const auto process = names.process_of(name);
    if (!process || ::kill(*process, 0) == 0 || errno != ESRCH) continue;
    const int file =
        ::openat(target.folder(), name.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) continue;
    const FileHandle handle(file);
    if (take_lock(file)) ::unlinkat(target.folder(), name.c_str(), 0);
  }
}

}  // namespace

class StagedFile::Impl {
 public:
  Impl(const fs::path& path, std::string_view operation)
      : target_(path, operation), file_(create()) {}
  ~Impl() {
    if (!published_) ::unlinkat(target_.folder(), temporary_name_.c_str(), 0);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void write(std::span<const std::byte> bytes) {
    require_usable();
    if (buffer_.size() + bytes.size() > BufferBytes) flush();
    if (bytes.size() > BufferBytes) {
      write_all(bytes);
    } else {
      buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    }
  }

  void sync() {
    require_usable();
    flush();
    if (sync_descriptor(file_.get()) != 0) fail("cannot sync the file", errno);
  }

  void publish() {
    sync();
    usable_ = false;
    if (::close(file_.release()) != 0) fail("cannot close the file", errno);
    if (::renameat(target_.folder(), temporary_name_.c_str(), target_.folder(),
                   target_.name().c_str()) != 0) {
      fail("cannot rename the file", errno);
    }
    published_ = true;
    // EINVAL: a file system that does not sync folders.
    if (sync_descriptor(target_.folder()) != 0 && errno != EINVAL) {
      target_.refuse(
          formatted("the file is complete, but its folder cannot be synced: {}; it may be lost if "
                    "the machine stops now",
                    describe_error(errno)));
    }
  }

 private:
  [[nodiscard]] int create() {
    const TemporaryNames names(target_.name());
    remove_leftovers(target_, names);
    for (int attempt = 0;; ++attempt) {
      temporary_name_ = names.make(attempt);
      const int descriptor = ::openat(target_.folder(), temporary_name_.c_str(),
                                      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
      if (descriptor >= 0) {
        take_lock(descriptor);  // a file system without locks keeps its leftovers
        return descriptor;
      }
      if (errno != EEXIST || attempt == LastAttempt) target_.refuse("cannot create a file", errno);
    }
  }

  void require_usable() const {
    if (usable_) return;
    throw InvalidArgument(formatted(
        "{}: has been published or could not be written; it cannot be used again, stage a new one",
        target_.where()));
  }

  /// No retry: part of the buffer may be in the file, and a sync that failed once can
  /// succeed later without having written anything.
  [[noreturn]] void fail(std::string_view what, int error) {
    usable_ = false;
    target_.refuse(what, error);
  }

  void flush() {
    write_all(buffer_);
    buffer_.clear();
  }

  void write_all(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t written =
          ::write(file_.get(), bytes.data(), std::min(bytes.size(), LargestWrite));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail("cannot write the file", errno);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }

  Target target_;
  std::string temporary_name_;
  FileHandle file_;
  std::vector<std::byte> buffer_;
  bool usable_ = true;
  bool published_ = false;
};

StagedFile::StagedFile(const fs::path& path, std::string_view operation)
    : impl_(std::make_unique<Impl>(path, operation)) {}

StagedFile::~StagedFile() = default;

void StagedFile::write(std::span<const std::byte> bytes) { impl_->write(bytes); }

void StagedFile::write(const void* data, std::size_t byte_count) {
  impl_->write({static_cast<const std::byte*>(data), byte_count});
}

void StagedFile::sync() { impl_->sync(); }

void StagedFile::publish() { impl_->publish(); }

void remove_staged(const fs::path& path) {
  const Target target(path, {});
  remove_leftovers(target, TemporaryNames(target.name()));
}

void check_can_write(const fs::path& path, std::string_view operation) {
  const Target target(path, operation);
  if (::faccessat(target.folder(), ".", W_OK | X_OK, 0) != 0) {
    target.refuse("cannot create a file", errno);
  }
}

}  // namespace rcap
