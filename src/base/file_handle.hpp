#pragma once

#include <string>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace rcap {

/// Owns a file descriptor and closes it; a negative one stands for none.
class FileHandle {
 public:
  explicit FileHandle(int descriptor) noexcept : descriptor_(descriptor) {}
  ~FileHandle() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;
  [[nodiscard]] int get() const noexcept { return descriptor_; }
  [[nodiscard]] int release() noexcept { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_;
};

/// The system's description of a value of `errno`.
inline std::string describe_error(int error) { return std::generic_category().message(error); }

/// What is wrong with a file of this mode, which is not that of a regular file.
inline std::string_view describe_kind(mode_t mode) {
  return S_ISDIR(mode) ? "is a directory" : "is not a regular file";
}

}  // namespace rcap
