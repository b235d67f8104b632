#include "base/staged_file.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string>
#include <vector>

#include "base/file_handle.hpp"
#include "base/formatted.hpp"
#include "base/path_text.hpp"
#include "base/staging_place.hpp"
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

std::string_view advice_for(int error) {
  switch (error) {
    case ENOSPC:
#ifdef EDQUOT
    case EDQUOT:
#endif
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

}  // namespace

TemporaryNames::TemporaryNames(const std::string& name)
    : start_(formatted(".{}.", name.size() <= LongestNameRepeated ? name : "rcap")) {}

std::string TemporaryNames::make(int number) const {
  return formatted("{}{}-{}{}", start_, process_number(), number, End);
}

bool TemporaryNames::include(std::string_view name) const {
  if (!name.starts_with(start_) || !name.ends_with(End)) return false;
  name.remove_prefix(start_.size());
  int process = 0;
  const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), process);
  return error == std::errc() && process > 0 && *rest == '-';
}

StagingPlace::StagingPlace(const fs::path& path, std::string_view operation)
    : where_(operation.empty() ? path_text(path)
                               : formatted("{} \"{}\"", operation, path_text(path))),
      folder_path_(path.has_parent_path() ? path.parent_path() : fs::path(".")),
      name_(path_text(path.filename())),
      folder_(open_folder()) {
  check_old_file();
  if (name_.empty()) refuse("does not name a file; give a file name");
}

void StagingPlace::refuse(std::string_view what) const {
  throw BadFile(formatted("{}: {}", where_, what));
}

void StagingPlace::refuse(std::string_view what, int error) const {
  refuse(formatted("{}: {}; {}", what, describe_error(error), advice_for(error)));
}

class StagedFile::Impl {
 public:
  Impl(const fs::path& path, std::string_view operation)
      : place_(path, operation), file_(create()) {}
  ~Impl() {
    if (published_) return;
    file_.close();  // Windows removes no file that is open
    place_.remove(temporary_name_);
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
    if (sync_file(file_.get()) != 0) fail("cannot sync the file", errno);
  }

  void publish() {
    sync();
    usable_ = false;
    if (close_file(file_.release()) != 0) fail("cannot close the file", errno);
    if (!place_.publish(temporary_name_)) fail("cannot rename the file", errno);
    published_ = true;
    if (!place_.sync()) {
      place_.refuse(
          formatted("the file is complete, but its folder cannot be synced: {}; it may be lost if "
                    "the machine stops now",
                    describe_error(errno)));
    }
  }

 private:
  [[nodiscard]] int create() {
    const TemporaryNames names(place_.name());
    place_.remove_leftovers(names);
    for (int attempt = 0;; ++attempt) {
      temporary_name_ = names.make(attempt);
      const int descriptor = place_.create(temporary_name_);
      if (descriptor >= 0) return descriptor;
      if (errno != EEXIST || attempt == LastAttempt) place_.refuse("cannot create a file", errno);
    }
  }

  void require_usable() const {
    if (usable_) return;
    throw InvalidArgument(formatted(
        "{}: has been published or could not be written; it cannot be used again, stage a new one",
        place_.where()));
  }

  /// No retry: part of the buffer may be in the file, and a sync that failed once can
  /// succeed later without having written anything.
  [[noreturn]] void fail(std::string_view what, int error) {
    usable_ = false;
    place_.refuse(what, error);
  }

  void flush() {
    write_all(buffer_);
    buffer_.clear();
  }

  void write_all(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const std::ptrdiff_t written =
          write_file(file_.get(), bytes.data(), std::min(bytes.size(), LargestWrite));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail("cannot write the file", errno);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }

  StagingPlace place_;
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
  const StagingPlace place(path, {});
  place.remove_leftovers(TemporaryNames(place.name()));
}

void check_can_write(const fs::path& path, std::string_view operation) {
  const StagingPlace place(path, operation);
  if (!place.is_writable()) place.refuse("cannot create a file", errno);
}

}  // namespace rcap
