#include "models/small_cnn.hpp"

#include "models/convolution.hpp"

namespace rcap {

SmallCnn::SmallCnn(const ModelOptions& options)
    : conv1_(convolution(options.channels, 16, 3, 1)),
      conv2_(convolution(16, 32, 3, 1)),
      conv3_(convolution(32, 64, 3, 1)),
      bn1_(16),
      bn2_(32),
      bn3_(64),
      fc_(64, options.class_count) {
  register_module("conv1", conv1_);
  register_module("bn1", bn1_);
  register_module("conv2", conv2_);
  register_module("bn2", bn2_);
  register_module("conv3", conv3_);
  register_module("bn3", bn3_);
  register_module("fc", fc_);
}

torch::Tensor SmallCnn::forward(const torch::Tensor& images) {
  auto x = torch::max_pool2d(bn1_(conv1_(images)).relu_(), 2);
  x = torch::max_pool2d(bn2_(conv2_(x)).relu_(), 2);
  x = bn3_(conv3_(x)).relu_();
  return fc_(x.mean({2, 3}));
}

}  // namespace rcap
