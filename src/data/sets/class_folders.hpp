#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/sets/file_list.hpp"
#include "rcap/core/workers.hpp"

namespace rcap {

/// The names of the folders in a folder, in byte order; those that begin with a dot are ignored.
/// @throws BadFile  if there is none
[[nodiscard]] std::vector<std::string> list_classes(const std::filesystem::path& folder);

/// Lists the images in the folders `present`; the index of a class is its place in `class_names`.
/// Class after class, each in byte order of the paths.
/// @throws BadFile  a class that is not in `class_names`, a class without images
[[nodiscard]] FileList list_class_images(const std::filesystem::path& folder,
                                         std::span<const std::string> present,
                                         std::span<const std::string> class_names,
                                         const Workers& workers);

/// Says which classes have no image in a folder; nothing if all have.
/// @param present  in byte order, like `class_names`
void remark_absent_classes(std::span<const std::string> class_names,
                           std::span<const std::string> present,
                           const std::filesystem::path& folder, std::vector<std::string>& remarks);

}  // namespace rcap
