#pragma once

#include <torch/torch.h>

namespace rcap {

/// A network that classifies images.
class Network : public torch::nn::Module {
 public:
  /// @param images  N x C x H x W, normalised, any memory format
  /// @return logits, N x classes
  virtual torch::Tensor forward(const torch::Tensor& images) = 0;
};

}  // namespace rcap
