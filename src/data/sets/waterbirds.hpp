#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "data/dataset.hpp"
#include "data/images/file_images.hpp"
#include "data/images/path_list.hpp"

namespace rcap {

/// The rows of metadata.csv.
struct WaterbirdsTable {
  PathList files;                    ///< below the folder of the table
  std::vector<ClassId> labels;       ///< 0 landbird, 1 waterbird
  std::vector<std::int32_t> places;  ///< what is behind the bird: 0 land, 1 water
  std::vector<std::uint8_t> splits;  ///< 0 train, 1 validation, 2 test
};

/// Reads the table, whose header must be the published one.
/// @throws BadFile  names the file, the line and the value
[[nodiscard]] WaterbirdsTable read_waterbirds_table(const std::filesystem::path& path);

/// Waterbirds: two classes, and four groups 2 * class + place. The validation split is not
/// used. `folder` holds metadata.csv, or the folder that the archive unpacks to.
/// @throws BadFile  a bad table, images that are not there
[[nodiscard]] Dataset open_waterbirds(const std::filesystem::path& folder,
                                      const ImageFileOptions& options);

}  // namespace rcap
