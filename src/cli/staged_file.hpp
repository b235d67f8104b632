#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace rcap::cli {

/// A file that is first written under a temporary name in the folder of its path, so
/// that the path is at every moment the old file or the new one, whole.
///
///     StagedFile ids("ids.npy"), weights("weights.npy");
///     ids.write(...);
///     weights.write(...);      // throws: neither file has changed
///     ids.publish();
///     weights.publish();
///
/// What was not published is removed by the destructor.
class StagedFile {
 public:
  explicit StagedFile(std::filesystem::path path);
  ~StagedFile();
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;

  /// Where the contents go until `publish`.
  [[nodiscard]] const std::filesystem::path& temporary_path() const noexcept { return temporary_; }

  /// Writes the pieces one after another to the temporary name and syncs them to disk.
  /// @throws BadFile  names the path and the reason
  void write(std::span<const std::span<const std::byte>> pieces);

  /// Renames the temporary file to the path and syncs the folder.
  /// @throws BadFile  names the path and the reason
  void publish();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
};

/// Checks that a file could be written at `path`: its folder is there and writable, and
/// `path` itself is free or a regular file.
/// @throws BadFile  names the path and what is in the way
void check_can_write(const std::filesystem::path& path);

}  // namespace rcap::cli
