#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "data/dataset.hpp"
#include "data/images/file_images.hpp"
#include "data/images/path_list.hpp"

namespace rcap {

/// Two of the attributes in list_attr_celeba, by image. The others are checked, not kept.
struct CelebaAttributes {
  PathList files;
  std::vector<std::uint8_t> blond;  ///< 1 if Blond_Hair is 1, 0 if it is -1
  std::vector<std::uint8_t> male;   ///< likewise
};

/// Reads the list as it was published (the count, the names, values separated by blanks) or as in
/// the widely used copy (a header that begins with image_id, values separated by commas). Its first
/// line decides which of the two it is. Columns are found by name.
/// @throws BadFile  names the file, the line and the value
[[nodiscard]] CelebaAttributes read_celeba_attributes(const std::filesystem::path& path);

/// Which split an image of list_eval_partition belongs to.
struct CelebaPartition {
  PathList files;
  std::vector<std::uint8_t> splits;  ///< 0 train, 1 validation, 2 test
};

/// Reads the list, without a header as published, or with that of the copy, image_id,partition.
/// @throws BadFile  names the file, the line and the value
[[nodiscard]] CelebaPartition read_celeba_partition(const std::filesystem::path& path);

/// CelebA: the class is whether the hair is blond, the group 2 * blond + male. The validation split
/// is not used. Images keep the order of list_eval_partition.
///
/// `folder` contains both lists (.txt, or else .csv) and img_align_celeba (or the folder of the
/// same name in it that the copy unpacks to).
/// @throws BadFile  a bad list, an image that only one of the lists names, missing images
[[nodiscard]] Dataset open_celeba(const std::filesystem::path& folder,
                                  const ImageFileOptions& options);

}  // namespace rcap
