#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.hpp"
#include "data/images/file_images.hpp"
#include "data/images/path_list.hpp"

namespace rcap {

/// The contents of train2017.json or val2017.json.
struct InaturalistList {
  PathList files;               ///< relative to the folder that contains train_val_images
  std::vector<ClassId> labels;  ///< places in `supercategories`
  std::vector<std::string> supercategories;  ///< of all categories, in byte order, each once
};

/// Reads a list of images, categories and annotations. Other members are ignored, and the order of
/// the members does not matter. The text is read event by event: only a few dozen bytes per image
/// are kept.
/// @throws BadFile  not JSON (names the byte), a missing member or one of the wrong type, an id
///                  that appears twice or nowhere, an image with no annotation or two; names the
///                  file, the place, such as images[17], and the value
[[nodiscard]] InaturalistList read_inaturalist_list(const std::filesystem::path& path);

/// iNaturalist 2017 with its 13 supercategories as classes, in byte order. Training images are
/// those of train2017.json, test images those of val2017.json: both are in the same folders, so
/// only the lists tell them apart.
///
/// `folder` contains the lists (possibly in train_val2017) and train_val_images.
/// @throws BadFile  a bad list, an image that both lists name, missing images, a supercategory in
///                  val2017.json that is not in train2017.json
[[nodiscard]] Dataset open_inaturalist(const std::filesystem::path& folder,
                                       const ImageFileOptions& options);

}  // namespace rcap
