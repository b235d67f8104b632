#pragma once

#include <torch/torch.h>

namespace rcap {

/// Stochastic depth: in training, zeroes a residual branch for some samples of the batch and scales
/// it up for the others, so that its mean stays the same. Does nothing in evaluation.
///
///     x = x + drop_path_(branch(x));
class DropPathImpl final : public torch::nn::Module {
 public:
  /// @param drop_probability  of each sample, in [0, 1)
  explicit DropPathImpl(double drop_probability) : drop_probability_(drop_probability) {}

  torch::Tensor forward(const torch::Tensor& branch);

  [[nodiscard]] double drop_probability() const noexcept { return drop_probability_; }

 private:
  double drop_probability_;
};
TORCH_MODULE(DropPath);

}  // namespace rcap
