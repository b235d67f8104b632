#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.hpp"
#include "data/images/path_list.hpp"
#include "rcap/core/workers.hpp"

namespace rcap {

/// One split of images in files, before it becomes a source.
struct FileList {
  std::filesystem::path folder;  ///< that the paths are below
  PathList files;
  std::vector<ClassId> labels;
  std::vector<std::int32_t> groups;  ///< empty where groups are the classes
};

[[nodiscard]] Split make_split(FileList list, int least_side);

/// Whether there is a folder; one that cannot be looked at is none.
[[nodiscard]] bool is_folder(const std::filesystem::path& path);
/// Whether there is something of this name.
[[nodiscard]] bool is_there(const std::filesystem::path& path);

/// The list without the images that cannot be decoded. A remark names the first few.
/// @throws BadFile  if nothing is left of a class
[[nodiscard]] FileList without_bad_images(FileList list, const Workers& workers,
                                          std::span<const std::string> class_names,
                                          std::vector<std::string>& remarks);

/// The places of the files that are not there. Lists each folder once instead of asking for
/// each file, which on a slow disk is the difference between seconds and an hour.
[[nodiscard]] std::vector<std::size_t> find_missing_files(const FileList& list,
                                                          const Workers& workers);

/// The list without the files that are not there. A remark names the first few.
/// @param source  what names the files, for the remark
[[nodiscard]] FileList without_missing_files(FileList list, const Workers& workers,
                                             std::string_view source,
                                             std::vector<std::string>& remarks);

/// @throws BadFile  if files are not there; names the first few and the remedy
void check_no_file_is_missing(const FileList& list, const Workers& workers, std::string_view source,
                              std::string_view remedy);

/// @throws BadFile  if a class has no image: there is nothing to learn it from
void check_every_class_has_images(const FileList& list, std::span<const std::string> class_names,
                                  std::string_view source);

}  // namespace rcap
