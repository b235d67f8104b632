#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.hpp"
#include "data/images/file_images.hpp"
#include "data/images/path_list.hpp"
#include "rcap/core/workers.hpp"

namespace rcap {

/// One split of images in files, before it becomes a source.
struct FileList {
  std::filesystem::path folder;  ///< that the paths are relative to
  PathList files;
  std::vector<ClassId> labels;
  std::vector<std::int32_t> groups;  ///< empty if the groups are the classes
};

[[nodiscard]] Split make_split(FileList list, int least_side);

/// The rows of a list of images that says which split each belongs to.
struct ImageRows {
  static constexpr std::uint8_t Train = 0, Test = 2;  ///< 1 is for validation

  PathList files;
  std::vector<ClassId> labels;
  std::vector<std::int32_t> groups;
  std::vector<std::uint8_t> splits;

  [[nodiscard]] FileList take(std::uint8_t split, const std::filesystem::path& folder) const;
};

/// The list without the images that cannot be decoded. A remark names the first few.
/// @throws BadFile  if nothing is left of a class
[[nodiscard]] FileList without_bad_images(FileList list, const Workers& workers,
                                          std::span<const std::string> class_names,
                                          std::vector<std::string>& remarks);

/// The places of the files that do not exist. Lists each folder once instead of asking for each
/// file, which on a slow disk is the difference between seconds and an hour.
[[nodiscard]] std::vector<std::size_t> find_missing_files(const FileList& list,
                                                          const Workers& workers);

/// Both splits of a data set that comes with a list of its images.
struct ListedImages {
  FileList train;
  FileList test;
  std::string train_source;  ///< the file that names the training images, for messages
  std::string test_source;   ///< likewise
  std::string remedy;        ///< where missing images come from, in words
};

/// Fills the splits of a data set whose class names are known already: all images must be on disk;
/// with `skip_bad`, those that are missing or cannot be decoded are left out, with a remark.
/// @throws BadFile  missing files, a class without training images, no test image
void open_listed_images(ListedImages listed, const ImageFileOptions& options, Dataset& dataset);

}  // namespace rcap
