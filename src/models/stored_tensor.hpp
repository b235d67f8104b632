#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include "io/safetensors.hpp"

namespace rcap {

/// A tensor that views the data in a file: read only, and valid only while the file is open.
/// @pre the data are aligned to their element, as those of `WeightFile` are
[[nodiscard]] torch::Tensor tensor_of(const TensorView& stored);

/// How a file is to store a tensor, which must be contiguous, on the CPU, and live until it is
/// written.
/// @throws InternalError  a type that weight files do not have
[[nodiscard]] TensorView view_of(std::string name, const torch::Tensor& tensor);

/// Tensors with their names, in order.
using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

/// Writes tensors to a safetensors file, from any device and memory format.
/// @throws BadFile  names the path and the reason
void save_tensors(const std::filesystem::path& path, const NamedTensors& tensors,
                  const std::map<std::string, std::string>& metadata);

}  // namespace rcap
