#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

namespace rcap {

/// A file that is written under a temporary name beside its path and renamed to that path when it
/// is complete: at any moment the path holds either the whole old file or the whole new one.
///
///     StagedFile ids("ids.npy"), weights("weights.npy");
///     ids.write(...);
///     weights.write(...);
///     ids.sync();
///     weights.sync();          // throws: neither path has changed
///     ids.publish();
///     weights.publish();
///
/// What was not published is removed by the destructor. A process that is killed leaves
/// `.NAME.<process>-<number>.tmp` behind, which is removed the next time the file is staged.
///
/// After an exception the contents cannot be trusted: every later call throws `InvalidArgument`, as
/// it does after `publish`.
class StagedFile {
 public:
  /// Creates the temporary file in the folder of `path`, which must exist. A regular file at `path`
  /// will be replaced; so will a symbolic link, which is not followed, unless it leads to something
  /// other than a regular file.
  ///
  /// @param operation  what messages begin with: "save_state" for `save_state "PATH": ...`; empty
  ///                   for `PATH: ...`
  /// @throws BadFile  no file name, no folder, a directory or something else that is not a regular
  ///                  file at `path`, or the file cannot be created
  explicit StagedFile(const std::filesystem::path& path, std::string_view operation = {});
  ~StagedFile();
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;

  /// Appends. Small pieces are buffered, so an error may surface in a later call.
  /// @throws BadFile  the bytes cannot be written
  void write(std::span<const std::byte> bytes);
  void write(const void* data, std::size_t byte_count);

  /// Writes everything so far to the disk. Sync all of several files before publishing the first,
  /// so that a full disk changes none of them. More may be written afterwards.
  /// @throws BadFile  the bytes cannot be written
  void sync();

  /// Syncs the file, gives it its name and syncs the folder.
  /// @throws BadFile  what was at the path is still there, unless the message says that the file is
  ///                  complete and only its folder could not be synced
  void publish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Removes what killed processes left of a file staged for `path`; staging it does so too.
void remove_staged(const std::filesystem::path& path);

/// Checks that a file could be staged for `path` now, without creating one.
/// @throws BadFile  like the constructor of `StagedFile`
void check_can_write(const std::filesystem::path& path, std::string_view operation = {});

}  // namespace rcap
