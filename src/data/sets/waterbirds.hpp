#pragma once

#include <filesystem>

#include "data/sets/file_list.hpp"

namespace rcap {

/// Reads metadata.csv, whose header must be the published one: label 0 is a landbird, 1 a
/// waterbird; a group is 2 * label + place, which is 0 on land and 1 on water.
/// @throws BadFile  names the file, the line and the value
[[nodiscard]] ImageRows read_waterbirds_table(const std::filesystem::path& path);

/// Waterbirds: two classes, and four groups. The validation split is not used. `folder` contains
/// metadata.csv, or the folder that the archive unpacks to.
/// @throws BadFile  a bad table, missing images
[[nodiscard]] Dataset open_waterbirds(const std::filesystem::path& folder,
                                      const ImageFileOptions& options);

}  // namespace rcap
