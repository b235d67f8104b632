#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/dataset.hpp"
#include "rcap/core/workers.hpp"

namespace rcap {

/// An image that cannot be decoded.
struct BadImage {
  SampleId id = 0;
  std::string reason;  ///< names the file
};

/// Decodes every image once.
/// @param progress  receives the number of images done, from any of the workers' threads but one at
///                  a time
/// @return the images that fail, in order
[[nodiscard]] std::vector<BadImage> find_bad_images(
    const ImageSource& images, const Workers& workers,
    const std::function<void(std::int64_t done)>& progress = {});

}  // namespace rcap
