#pragma once

#include "models/make_model.hpp"

namespace rcap {

/// Three stages of 3x3 convolution, batch norm and ReLU, 16-32-64 channels, max-pooling by 2
/// between them; global mean and a linear head. 24 thousand parameters: small enough to train on a
/// laptop while you watch.
class SmallCnn final : public Network {
 public:
  explicit SmallCnn(const ModelOptions& options);

  torch::Tensor forward(const torch::Tensor& images) override;

 private:
  torch::nn::Conv2d conv1_, conv2_, conv3_;
  torch::nn::BatchNorm2d bn1_, bn2_, bn3_;
  torch::nn::Linear fc_;
};

}  // namespace rcap
