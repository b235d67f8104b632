#pragma once

#include <filesystem>

namespace rcap {

/// Holds a folder for one study. Processes that the study starts inherit the lock, so it is only
/// free again when no run of a killed study is under way any more.
class FolderLock {
 public:
  /// Waits a few seconds for the processes of a study that was just killed.
  /// @throws InvalidArgument  another study holds the folder
  /// @throws BadFile          the lock cannot be created
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int file_ = -1;
};

}  // namespace rcap
