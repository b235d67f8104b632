#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

namespace rcap {

/// A file that exists in memory alone, for readers that want a path: opening one on disk
/// thousands of times takes minutes.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("rcap-test", MFD_CLOEXEC)) {
    if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "memfd_create");
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  /// Replaces what the file holds.
  void put(std::string_view bytes) {
    bool ok = ::ftruncate(descriptor_, 0) == 0;
    for (std::size_t done = 0; ok && done < bytes.size();) {
      const ssize_t count =
          ::pwrite(descriptor_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
      ok = count > 0;
      if (ok) done += static_cast<std::size_t>(count);
    }
    if (!ok) throw std::system_error(errno, std::generic_category(), "memory file");
  }
  void put(std::span<const std::uint8_t> bytes) {
    put(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }

  /// Opens the file anew, from its first byte.
  [[nodiscard]] std::filesystem::path path() const {
    return "/proc/self/fd/" + std::to_string(descriptor_);
  }

 private:
  int descriptor_;
};

}  // namespace rcap
