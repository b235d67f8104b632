#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <span>
#include <string_view>

#include "base/file_handle.hpp"

namespace rcap {

/// A regular file that is open for reading. If something else writes to it or truncates it
/// meanwhile, reads may come up short, and `is_unchanged` reports it.
class RegularFile {
 public:
  /// @param where  what messages begin with, such as `SafetensorsFile "a.safetensors"`
  /// @throws BadFile  there is no such file, or it is not a regular one
  RegularFile(const std::filesystem::path& path, std::string_view where);

  [[nodiscard]] int descriptor() const noexcept { return file_.get(); }
  /// The size when it was opened.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  /// Fills `bytes` from `offset` on.
  /// @return false if the disk fails or the file ends too early
  [[nodiscard]] bool read(std::uint64_t offset, std::span<std::byte> bytes) const noexcept;
  /// Whether its size and modification time are still those it had when it was opened.
  [[nodiscard]] bool is_unchanged() const noexcept;

 private:
  FileHandle file_;
  std::uint64_t size_ = 0;
  timespec written_{};
};

}  // namespace rcap
