#include "train/optimizer.hpp"

#include <fmt/format.h>

namespace rcap {
namespace {

std::vector<torch::Tensor> zeros_like(const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> zeros;
  for (const torch::Tensor& tensor : tensors) zeros.push_back(torch::zeros_like(tensor.detach()));
  return zeros;
}

void add_named(const char* name, const std::vector<torch::Tensor>& tensors, NamedTensors& state) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    state.emplace_back(fmt::format("{}.{}", name, i), tensors[i]);
  }
}

}  // namespace

Optimizer::Optimizer(const TrainOptions& options, std::vector<torch::Tensor> parameters)
    : kind_(options.optimizer),
      momentum_(options.momentum),
      nesterov_(options.nesterov),
      weight_decay_(options.weight_decay),
      parameters_(std::move(parameters)) {
  if (kind_ == OptimizerKind::AdamW || momentum_ > 0) first_moments_ = zeros_like(parameters_);
  if (kind_ != OptimizerKind::AdamW) return;
  second_moments_ = zeros_like(parameters_);
  for (const torch::Tensor& parameter : parameters_) {
    step_counts_.push_back(torch::zeros({}, parameter.options().dtype(torch::kFloat)));
  }
}

void Optimizer::step(double learning_rate) {
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> gradients;
  gradients.reserve(parameters_.size());
  for (const torch::Tensor& parameter : parameters_) gradients.push_back(parameter.grad());
  if (kind_ == OptimizerKind::Sgd) {
    // Momentum starts at zero, so its first step is like every other.
    at::_fused_sgd_(parameters_, gradients, first_moments_, weight_decay_, momentum_, learning_rate,
                    /*dampening=*/0, nesterov_, /*maximize=*/false,
                    /*is_first_step=*/false);
  } else {
    at::_foreach_add_(step_counts_, 1);
    at::_fused_adamw_(parameters_, gradients, first_moments_, second_moments_, {}, step_counts_,
                      learning_rate, /*beta1=*/0.9, /*beta2=*/0.999, weight_decay_, /*eps=*/1e-8,
                      /*amsgrad=*/false, /*maximize=*/false);
  }
  for (torch::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
}

NamedTensors Optimizer::state() const {
  NamedTensors state;
  add_named("first_moment", first_moments_, state);
  add_named("second_moment", second_moments_, state);
  add_named("step_count", step_counts_, state);
  return state;
}

}  // namespace rcap
