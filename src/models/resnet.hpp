#pragma once

#include <array>

#include "models/make_model.hpp"

namespace rcap {

/// Two 3x3 convolutions with a shortcut. Names are torchvision's.
class BasicBlock final : public torch::nn::Module {
 public:
  static constexpr int Expansion = 1;  ///< output channels over `width`

  BasicBlock(int from, int width, int stride);

  torch::Tensor forward(const torch::Tensor& x);

 private:
  torch::nn::Conv2d conv1_, conv2_;
  torch::nn::BatchNorm2d bn1_, bn2_;
  torch::nn::Sequential downsample_{nullptr};  ///< if the shape changes
};

/// A 3x3 convolution between two 1x1 ones, with a shortcut. The 3x3 one has the stride, as in
/// torchvision; in the paper the first one has it.
class Bottleneck final : public torch::nn::Module {
 public:
  static constexpr int Expansion = 4;

  Bottleneck(int from, int width, int stride);

  torch::Tensor forward(const torch::Tensor& x);

 private:
  torch::nn::Conv2d conv1_, conv2_, conv3_;
  torch::nn::BatchNorm2d bn1_, bn2_, bn3_;
  torch::nn::Sequential downsample_{nullptr};
};

/// The four layers of a residual network of `Block`s between a stem and a classifier.
template <class Block>
class ResNet : public Network {
 public:
  torch::Tensor forward(const torch::Tensor& images) override;
  /// Other code for CIFAR uses `shortcut` for `downsample` and `linear` for `fc`.
  void translate(WeightSet& weights) const override;

 protected:
  enum class Stem {
    Small,  ///< 3x3 with stride 1, for images of about 32 x 32
    Large   ///< 7x7 with stride 2 and max-pooling: the layers get a quarter of the size
  };

  ResNet(Stem stem, const std::array<int, 4>& block_counts, const ModelOptions& options);

 private:
  Stem stem_;
  torch::nn::Conv2d conv1_;
  torch::nn::BatchNorm2d bn1_;
  std::array<torch::nn::Sequential, 4> layers_;
  torch::nn::Linear fc_;
};

/// ResNet-18 for small images. 11.2 million parameters.
class ResNet18Cifar final : public ResNet<BasicBlock> {
 public:
  explicit ResNet18Cifar(const ModelOptions& options)
      : ResNet(Stem::Small, {2, 2, 2, 2}, options) {}
};

/// 11.7 million parameters with 1000 classes.
class ResNet18 final : public ResNet<BasicBlock> {
 public:
  explicit ResNet18(const ModelOptions& options) : ResNet(Stem::Large, {2, 2, 2, 2}, options) {}
};

/// 25.6 million parameters with 1000 classes.
class ResNet50 final : public ResNet<Bottleneck> {
 public:
  explicit ResNet50(const ModelOptions& options) : ResNet(Stem::Large, {3, 4, 6, 3}, options) {}
};

}  // namespace rcap
