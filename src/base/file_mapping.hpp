#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace rcap {

/// The bytes of a regular file, mapped into memory for reading as long as the object lives. The
/// file must not be shortened meanwhile; replacing it by renaming another one over it is safe.
class FileMapping {
 public:
  /// @param where  what messages begin with, such as `SafetensorsFile "a.safetensors"`
  /// @throws BadFile  if there is no such file, it is not a regular one or cannot be mapped
  FileMapping(const std::filesystem::path& path, std::string_view where);
  ~FileMapping();
  FileMapping(const FileMapping&) = delete;
  FileMapping& operator=(const FileMapping&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace rcap
