#include "models/resnet.hpp"

#include <string>

namespace rcap {
namespace {

torch::nn::Conv2d conv(int from, int to, int size, int stride) {
  return torch::nn::Conv2d(
      torch::nn::Conv2dOptions(from, to, size).stride(stride).padding(size / 2).bias(false));
}

torch::nn::Sequential two_blocks(int from, int to, int stride) {
  return torch::nn::Sequential(BasicBlock(from, to, stride), BasicBlock(to, to, 1));
}

/// The initialisation of the paper that introduced it, as torchvision has it: normal with
/// the variance that keeps the gradient's scale.
void initialise_convolutions(torch::nn::Module& network) {
  for (const auto& module : network.modules(/*include_self=*/false)) {
    if (auto* convolution = module->as<torch::nn::Conv2d>()) {
      torch::nn::init::kaiming_normal_(convolution->weight, 0.0, torch::kFanOut, torch::kReLU);
    }
  }
}

}  // namespace

BasicBlock::BasicBlock(int from, int to, int stride)
    : conv1_(conv(from, to, 3, stride)), conv2_(conv(to, to, 3, 1)), bn1_(to), bn2_(to) {
  register_module("conv1", conv1_);
  register_module("bn1", bn1_);
  register_module("conv2", conv2_);
  register_module("bn2", bn2_);
  if (stride != 1 || from != to) {
    downsample_ = torch::nn::Sequential(conv(from, to, 1, stride), torch::nn::BatchNorm2d(to));
    register_module("downsample", downsample_);
  }
}

torch::Tensor BasicBlock::forward(const torch::Tensor& x) {
  auto y = bn1_(conv1_(x)).relu_();
  y = bn2_(conv2_(y));
  y += downsample_.is_empty() ? x : downsample_->forward(x);
  return y.relu_();
}

ResNet18Cifar::ResNet18Cifar(const ModelOptions& options)
    : conv1_(conv(options.channels, 64, 3, 1)),
      bn1_(64),
      layers_{two_blocks(64, 64, 1), two_blocks(64, 128, 2), two_blocks(128, 256, 2),
              two_blocks(256, 512, 2)},
      fc_(512, options.class_count) {
  register_module("conv1", conv1_);
  register_module("bn1", bn1_);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    register_module("layer" + std::to_string(i + 1), layers_[i]);
  }
  register_module("fc", fc_);
  initialise_convolutions(*this);
}

torch::Tensor ResNet18Cifar::forward(const torch::Tensor& images) {
  auto x = bn1_(conv1_(images)).relu_();
  for (auto& layer : layers_) x = layer->forward(x);
  return fc_(x.mean({2, 3}));
}

}  // namespace rcap
