#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

namespace rcap {

/// A file that is written under a temporary name beside its path and takes that path when
/// it is complete: at every moment the path is the old file or the new one, whole.
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
/// `.NAME.<process>-<number>.tmp` behind, which goes when the file is next staged.
///
/// After an exception the contents are not to be trusted: every later call throws
/// `InvalidArgument`, as it does after `publish`.
class StagedFile {
 public:
  /// Makes the temporary file, in the folder of `path`, which must exist. A regular file at
  /// `path` will be replaced; so will a symbolic link, which is not followed, unless it
  /// leads to something else than a regular file.
  ///
  /// @param operation  what the messages begin with: "save_state" for
  ///                   `save_state "PATH": ...`; nothing for `PATH: ...`
  /// @throws BadFile  no file name, no folder, a directory or another thing that is not a
  ///                  regular file at `path`, or the file cannot be made
  explicit StagedFile(const std::filesystem::path& path, std::string_view operation = {});
  ~StagedFile();
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;

  /// Appends. Small pieces are collected, so an error may come with a later call.
  /// @throws BadFile  the bytes cannot be written
  void write(std::span<const std::byte> bytes);
  void write(const void* data, std::size_t byte_count);

  /// Brings everything written so far to the disk. Before the first of several files is
  /// published all of them are synced, so that a full disk changes none. More may be written.
  /// @throws BadFile  the bytes cannot be written
  void sync();

  /// Syncs the file, gives it its name and syncs the folder.
  /// @throws BadFile  what stood at the path is still there, unless the message says that the
  ///                  file is complete and only its folder could not be synced
  void publish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Removes what killed processes left of a file that was staged for `path`; staging it does so too.
void remove_staged(const std::filesystem::path& path);

/// Checks that a file could be staged for `path` now, without making one.
/// @throws BadFile  as the constructor of `StagedFile`
void check_can_write(const std::filesystem::path& path, std::string_view operation = {});

}  // namespace rcap
