#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/file_handle.hpp"

namespace rcap {

/// The names a file has before it is published: `.NAME.<process>-<number>.tmp`.
class TemporaryNames {
 public:
  explicit TemporaryNames(const std::string& name);

  [[nodiscard]] std::string make(int number) const;
  [[nodiscard]] bool include(std::string_view name) const;

 private:
  static constexpr std::string_view End = ".tmp";

  std::string start_;
};

/// A path at which a file may be placed, and what the system is asked to do in its folder: one
/// source file for each kind of system. What is at the path, if anything, is a regular file or a
/// link to one. Functions that return false or a negative descriptor leave the reason in `errno`.
class StagingPlace {
 public:
  /// @param operation  what messages begin with; may be empty
  /// @throws BadFile  no file name, no folder, or something else than a regular file at the path
  StagingPlace(const std::filesystem::path& path, std::string_view operation);

  /// The name of the file in its folder.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// What messages begin with.
  [[nodiscard]] const std::string& where() const noexcept { return where_; }

  [[noreturn]] void refuse(std::string_view what) const;
  [[noreturn]] void refuse(std::string_view what, int error) const;

  /// Creates a file to be written, which others can tell from one that a dead process left.
  [[nodiscard]] int create(const std::string& name) const noexcept;
  void remove(const std::string& name) const noexcept;
  /// Removes what killed processes left of this file.
  void remove_leftovers(const TemporaryNames& names) const;
  /// Renames the file of this name to the path, replacing what is there.
  [[nodiscard]] bool publish(const std::string& name) const noexcept;
  /// Syncs the folder, so that a machine that stops still knows the name.
  [[nodiscard]] bool sync() const noexcept;
  [[nodiscard]] bool is_writable() const noexcept;

 private:
  [[nodiscard]] int open_folder() const;
  /// Refuses what is at the path unless it is a regular file.
  void check_old_file() const;

  std::string where_;
  std::filesystem::path folder_path_;
  std::string name_;
  FileHandle folder_;  ///< none on Windows
};

}  // namespace rcap
