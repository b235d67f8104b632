#include "models/mlp.hpp"

namespace rcap {
namespace {

constexpr std::int64_t HiddenSize = 128;

torch::nn::LayerNorm layer_norm() {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({HiddenSize}));
}

std::int64_t input_size(const ModelOptions& options) {
  return std::int64_t{options.channels} * options.image_height * options.image_width;
}

}  // namespace

Mlp::Mlp(const ModelOptions& options)
    : fc1_(input_size(options), HiddenSize),
      fc2_(HiddenSize, HiddenSize),
      norm1_(layer_norm()),
      norm2_(layer_norm()),
      fc_(HiddenSize, options.class_count) {
  register_module("fc1", fc1_);
  register_module("norm1", norm1_);
  register_module("fc2", fc2_);
  register_module("norm2", norm2_);
  register_module("fc", fc_);
}

torch::Tensor Mlp::forward(const torch::Tensor& images) {
  auto x = norm1_(fc1_(images.flatten(1))).relu_();
  x = norm2_(fc2_(x)).relu_();
  return fc_(x);
}

}  // namespace rcap
