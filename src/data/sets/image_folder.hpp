#pragma once

#include <filesystem>

#include "data/images/file_images.hpp"

namespace rcap {

/// Images in folders, one folder per class: root/train/CLASS/ and root/val/CLASS/ (or root/test).
///
/// Class indices are the ranks of the folder names in byte order; images are sorted by path, and
/// may be in further folders below that of the class. Files with an extension not listed at
/// `has_image_extension`, and files and folders whose name begins with a dot, are ignored. A class
/// of train that val lacks is allowed, with a remark.
///
/// If root has no train, its own folders are the classes, and a tenth of each (rounded down, at
/// least one image of a class that has two), drawn by the seed, is held out as the test split.
///
/// Nothing is decoded here; the only check is that no file is empty (`refuse_empty`). Images are
/// decoded when they are read. With `skip_bad` every image is decoded once, and those that fail are
/// left out, with a remark that names the first few. The normalisation is left empty.
///
/// @throws BadFile  no class folder, a class without (good) images, a class in val that is
///                  not in train, train without val and test, an empty file; names it
[[nodiscard]] Dataset open_image_folder(const std::filesystem::path& root,
                                        const ImageFileOptions& options);

}  // namespace rcap
