#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace rcap::pth {

/// One file of an archive.
struct ZipRecord {
  std::string_view name;
  std::span<const std::byte> data;  ///< as stored in the archive
  int method = 0;                   ///< of compression; 0: none
};

/// The records of a zip archive in memory, each with its data in place. For archives as PyTorch
/// writes them, with or without ZIP64. Compressed records are not unpacked: weights are never
/// compressed.
///
///  - The archive begins at the first byte and ends with the last one.
///  - Records do not overlap, so that no file is larger inside than outside.
///  - Every record has a unique name, and the checksum (CRC-32) of those that are not compressed is
///    right.
class ZipArchive {
 public:
  /// @param path  for messages
  /// @param file  must live as long as this object
  /// @throws BadFile  names the record or the offset, and what is wrong
  ZipArchive(const std::filesystem::path& path, std::span<const std::byte> file);

  /// By name, in byte order.
  [[nodiscard]] std::span<const ZipRecord> records() const noexcept { return records_; }
  /// The record of that name, or nullptr.
  [[nodiscard]] const ZipRecord* find(std::string_view name) const noexcept;

 private:
  std::vector<ZipRecord> records_;
};

}  // namespace rcap::pth
