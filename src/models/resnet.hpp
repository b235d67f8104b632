#pragma once

#include "rcap/models/make_model.hpp"

namespace rcap {

/// Two 3x3 convolutions beside a shortcut. Names are torchvision's.
class BasicBlock final : public torch::nn::Module {
 public:
  BasicBlock(int from, int to, int stride);

  torch::Tensor forward(const torch::Tensor& x);

 private:
  torch::nn::Conv2d conv1_, conv2_;
  torch::nn::BatchNorm2d bn1_, bn2_;
  torch::nn::Sequential downsample_{nullptr};  ///< where the shape changes
};

/// ResNet-18 for small images: the first convolution is 3x3 with stride 1, and there is no
/// max-pooling. 11.2 million parameters.
class ResNet18Cifar final : public Network {
 public:
  explicit ResNet18Cifar(const ModelOptions& options);

  torch::Tensor forward(const torch::Tensor& images) override;

 private:
  torch::nn::Conv2d conv1_;
  torch::nn::BatchNorm2d bn1_;
  std::array<torch::nn::Sequential, 4> layers_;
  torch::nn::Linear fc_;
};

}  // namespace rcap
