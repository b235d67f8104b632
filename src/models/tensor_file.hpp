#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <torch/torch.h>

namespace rcap {

/// Tensors under names, in order.
using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

/// Writes tensors to a safetensors file, from whatever device and memory format.
/// @throws BadFile  names the path and the reason
void save_tensors(const std::filesystem::path& path, const NamedTensors& tensors,
                  const std::map<std::string, std::string>& metadata);

}  // namespace rcap
