#pragma once

#include <string>
#include <string_view>

#include "data/images/file_images.hpp"
#include "data/sets/file_list.hpp"

namespace rcap {

/// Both splits of a data set that comes with a list of its images.
struct ListedImages {
  FileList train;
  FileList test;
  std::string train_source;  ///< the file that names the training images, for messages
  std::string test_source;   ///< likewise
  std::string remedy;        ///< where missing images come from, in words
};

/// Fills the splits of a data set whose class names are there already: all images must be on
/// disk, or those that are not, or cannot be decoded, are left out (`skip_bad`).
/// @throws BadFile  missing files, a class without training images, no test image
void open_listed_images(ListedImages listed, const ImageFileOptions& options, Dataset& dataset);

}  // namespace rcap
