#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "data/dataset.hpp"

namespace rcap {

/// Grey images from an IDX file, one after another, row by row.
struct IdxImages {
  std::vector<std::uint8_t> pixels;
  std::int64_t count = 0;
  int height = 0;
  int width = 0;
};

/// Reads the formats of MNIST and its relatives (big-endian: magic, sizes, bytes), plain or gzip;
/// the contents decide which of the two it is, not the name.
///
/// The sizes in the header are checked against the file before memory is allocated: a plain file
/// must have exactly the bytes they claim, and a gzip file enough to unpack to them. A gzip file is
/// unpacked only as far as the header claims, plus one byte to detect what follows.
///
/// @throws BadFile  not an IDX file of that kind, truncated, longer than its header says, no image,
///                  or an image without pixels; names the file, what was found and what was
///                  expected
[[nodiscard]] IdxImages read_idx_images(const std::filesystem::path& path);
[[nodiscard]] std::vector<std::uint8_t> read_idx_labels(const std::filesystem::path& path);

/// The file called `name` in `folder`, or else `name`.gz.
/// @throws BadFile  if neither exists
[[nodiscard]] std::filesystem::path find_idx_file(const std::filesystem::path& folder,
                                                  std::string_view name);

/// Images and their labels, kept in memory.
/// @throws BadFile  as above; also if the counts differ, or a label is not below `class_count`
[[nodiscard]] Split read_idx_split(const std::filesystem::path& images_path,
                                   const std::filesystem::path& labels_path, ClassId class_count);

}  // namespace rcap
