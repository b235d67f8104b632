#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "io/pth/pth_container.hpp"
#include "io/safetensors.hpp"

namespace rcap::pth {

/// Which dictionary of a file holds the weights.
struct Weights {
  std::size_t dictionary = 0;
  std::string wrapper;                   ///< the keys that lead there, joined by dots
  std::vector<std::string> passed_over;  ///< those that lead to others
};

/// Looks for a dictionary with tensors in it, as `PthFile` says.
/// @throws BadFile  if there is none; tells what was found
[[nodiscard]] Weights find_weights(const std::filesystem::path& path, const Container& container);

/// Memory of tensors that could not be used as they lie in the file.
using Copies = std::vector<std::unique_ptr<std::byte[]>>;

/// The tensors of a dictionary, contiguous and aligned.
/// @param file_bytes  the size of the file, which bounds the copies
/// @throws BadFile  names the tensor
[[nodiscard]] std::vector<TensorView> make_tensors(const std::filesystem::path& path,
                                                   const Container& container,
                                                   const pickle::Dictionary& dictionary,
                                                   std::size_t file_bytes, Copies& copies);

}  // namespace rcap::pth
