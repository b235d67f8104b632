#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "data/dataset.hpp"

namespace rcap {

/// Grey images out of an IDX file, one after another, row by row.
struct IdxImages {
  std::vector<std::uint8_t> pixels;
  std::int64_t count = 0;
  int height = 0;
  int width = 0;
};

/// Reads the formats of MNIST and its relatives (big-endian: magic, sizes, bytes), plain or
/// gzip; which of the two is told by the contents, not by the name.
///
/// The sizes in the header are held against the file before memory is taken: a plain file
/// must have exactly the bytes they name, and a gzip file enough to unpack to them. Of a
/// gzip file no more is unpacked than the header claims and one byte, to find what follows.
///
/// @throws BadFile  not an IDX file of that kind, cut off, longer than its header says, no
///                  image, or an image with no pixel; names the file, what was found and
///                  what was expected
[[nodiscard]] IdxImages read_idx_images(const std::filesystem::path& path);
[[nodiscard]] std::vector<std::uint8_t> read_idx_labels(const std::filesystem::path& path);

/// The file called `name` in `folder`, or else `name`.gz.
/// @throws BadFile  if neither is there
[[nodiscard]] std::filesystem::path find_idx_file(const std::filesystem::path& folder,
                                                  std::string_view name);

/// Images and their labels, kept in memory.
/// @throws BadFile  as above; also if the counts differ, or a label is not below `class_count`
[[nodiscard]] Split read_idx_split(const std::filesystem::path& images_path,
                                   const std::filesystem::path& labels_path, ClassId class_count);

}  // namespace rcap
