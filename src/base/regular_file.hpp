#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <span>
#include <string_view>

#include "base/file_handle.hpp"

namespace rcap {

/// A regular file that is open for reading. Others may write to it meanwhile, or cut it off: reads
/// then come up short, and `is_unchanged` tells.
class RegularFile {
 public:
  /// @param where  what messages begin with, such as `SafetensorsFile "a.safetensors"`
  /// @throws BadFile  there is no such file, or it is not a regular one
  RegularFile(const std::filesystem::path& path, std::string_view where);

  [[nodiscard]] int descriptor() const noexcept { return file_.get(); }
  /// When it was opened.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  /// Fills `bytes` from `offset` on.
  /// @return false if the disk fails, or the file has ended
  [[nodiscard]] bool read(std::uint64_t offset, std::span<std::byte> bytes) const noexcept;
  /// Whether it has the size and the time of writing that it had when it was opened.
  [[nodiscard]] bool is_unchanged() const noexcept;

 private:
  FileHandle file_;
  std::uint64_t size_ = 0;
  timespec written_{};
};

}  // namespace rcap
