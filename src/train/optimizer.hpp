#pragma once

#include <vector>

#include <torch/torch.h>

#include "models/stored_tensor.hpp"
#include "train/options.hpp"

namespace rcap {

/// SGD with momentum or AdamW over all parameters of a network, in one fused call per step:
/// the optimisers of LibTorch's C++ side go through the tensors one by one.
class Optimizer {
 public:
  Optimizer(const TrainOptions& options, std::vector<torch::Tensor> parameters);

  /// Updates the parameters by their gradients and drops the gradients.
  void step(double learning_rate);

  /// Everything it remembers: the tensors themselves, to be read and written.
  [[nodiscard]] NamedTensors state() const;

 private:
  OptimizerKind kind_;
  double momentum_;
  bool nesterov_;
  double weight_decay_;
  std::vector<torch::Tensor> parameters_;
  std::vector<torch::Tensor> first_moments_;   ///< of AdamW, or the momentum of SGD if it has any
  std::vector<torch::Tensor> second_moments_;  ///< AdamW only
  std::vector<torch::Tensor> step_counts_;     ///< AdamW only
};

}  // namespace rcap
