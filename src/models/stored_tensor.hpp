#pragma once

#include <string>

#include <torch/torch.h>

#include "io/safetensors.hpp"

namespace rcap {

/// A tensor that looks at what a file holds: read only, and no longer than the file is open.
/// @pre the data are aligned to their element, as those of `WeightFile` are
[[nodiscard]] torch::Tensor tensor_of(const TensorView& stored);

/// How a file is to hold a tensor, which must be contiguous, on the processor, and live until
/// it is written.
/// @throws InternalError  a type that files of weights do not have
[[nodiscard]] TensorView view_of(std::string name, const torch::Tensor& tensor);

}  // namespace rcap
