#pragma once

#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#ifdef _WIN32
#include <io.h>
#include <process.h>
#else
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace rcap {

// What the C library calls differently on Windows.

#ifdef _WIN32
inline int close_file(int descriptor) { return ::_close(descriptor); }
inline int sync_file(int descriptor) { return ::_commit(descriptor); }
inline std::ptrdiff_t write_file(int descriptor, const void* data, std::size_t size) {
  return ::_write(descriptor, data, static_cast<unsigned>(size));
}
inline int process_number() { return ::_getpid(); }
#else
inline int close_file(int descriptor) { return ::close(descriptor); }
inline int sync_file(int descriptor) {
  int result = 0;
  do {
    result = ::fsync(descriptor);
  } while (result != 0 && errno == EINTR);
  return result;
}
inline std::ptrdiff_t write_file(int descriptor, const void* data, std::size_t size) {
  return ::write(descriptor, data, size);
}
inline int process_number() { return ::getpid(); }

/// What is wrong with a file of this mode, which is not that of a regular file.
inline std::string_view describe_kind(mode_t mode) {
  return S_ISDIR(mode) ? "is a directory" : "is not a regular file";
}
#endif

/// Owns a file descriptor and closes it; a negative one stands for none.
class FileHandle {
 public:
  explicit FileHandle(int descriptor) noexcept : descriptor_(descriptor) {}
  ~FileHandle() { close(); }
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;
  [[nodiscard]] int get() const noexcept { return descriptor_; }
  [[nodiscard]] int release() noexcept { return std::exchange(descriptor_, -1); }
  void close() noexcept {
    if (descriptor_ >= 0) close_file(release());
  }

 private:
  int descriptor_;
};

/// The system's description of a value of `errno`.
inline std::string describe_error(int error) { return std::generic_category().message(error); }

}  // namespace rcap
