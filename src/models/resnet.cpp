#include "models/resnet.hpp"

#include <string>

#include "models/convolution.hpp"

namespace rcap {
namespace {

/// Brings the input of a block to the shape of its output; empty if it has that shape already.
torch::nn::Sequential make_downsample(int from, int to, int stride) {
  if (stride == 1 && from == to) return nullptr;
  return torch::nn::Sequential(convolution(from, to, 1, stride), torch::nn::BatchNorm2d(to));
}

torch::Tensor shortcut(torch::nn::Sequential& downsample, const torch::Tensor& x) {
  return downsample.is_empty() ? x : downsample->forward(x);
}

template <class Block>
torch::nn::Sequential make_layer(int from, int width, int block_count, int first_stride) {
  torch::nn::Sequential layer(Block(from, width, first_stride));
  for (int i = 1; i < block_count; ++i) layer->push_back(Block(width * Block::Expansion, width, 1));
  return layer;
}

std::string replaced(std::string text, std::string_view old_part, std::string_view new_part) {
  const auto at = text.find(old_part);
  if (at != std::string::npos) text.replace(at, old_part.size(), new_part);
  return text;
}

}  // namespace

BasicBlock::BasicBlock(int from, int width, int stride)
    : conv1_(convolution(from, width, 3, stride)),
      conv2_(convolution(width, width, 3, 1)),
      bn1_(width),
      bn2_(width),
      downsample_(make_downsample(from, width, stride)) {
  register_module("conv1", conv1_);
  register_module("bn1", bn1_);
  register_module("conv2", conv2_);
  register_module("bn2", bn2_);
  if (!downsample_.is_empty()) register_module("downsample", downsample_);
}

torch::Tensor BasicBlock::forward(const torch::Tensor& x) {
  auto y = bn1_(conv1_(x)).relu_();
  y = bn2_(conv2_(y));
  y += shortcut(downsample_, x);
  return y.relu_();
}

Bottleneck::Bottleneck(int from, int width, int stride)
    : conv1_(convolution(from, width, 1, 1)),
      conv2_(convolution(width, width, 3, stride)),
      conv3_(convolution(width, width * Expansion, 1, 1)),
      bn1_(width),
      bn2_(width),
      bn3_(width * Expansion),
      downsample_(make_downsample(from, width * Expansion, stride)) {
  register_module("conv1", conv1_);
  register_module("bn1", bn1_);
  register_module("conv2", conv2_);
  register_module("bn2", bn2_);
  register_module("conv3", conv3_);
  register_module("bn3", bn3_);
  if (!downsample_.is_empty()) register_module("downsample", downsample_);
}

torch::Tensor Bottleneck::forward(const torch::Tensor& x) {
  auto y = bn1_(conv1_(x)).relu_();
  y = bn2_(conv2_(y)).relu_();
  y = bn3_(conv3_(y));
  y += shortcut(downsample_, x);
  return y.relu_();
}

template <class Block>
ResNet<Block>::ResNet(Stem stem, const std::array<int, 4>& block_counts,
                      const ModelOptions& options)
    : stem_(stem),
      conv1_(stem == Stem::Small ? convolution(options.channels, 64, 3, 1)
                                 : convolution(options.channels, 64, 7, 2)),
      bn1_(64),
      layers_{make_layer<Block>(64, 64, block_counts[0], 1),
              make_layer<Block>(64 * Block::Expansion, 128, block_counts[1], 2),
              make_layer<Block>(128 * Block::Expansion, 256, block_counts[2], 2),
              make_layer<Block>(256 * Block::Expansion, 512, block_counts[3], 2)},
      fc_(512 * Block::Expansion, options.class_count) {
  register_module("conv1", conv1_);
  register_module("bn1", bn1_);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    register_module("layer" + std::to_string(i + 1), layers_[i]);
  }
  register_module("fc", fc_);
  initialise_convolutions(*this);
}

template <class Block>
torch::Tensor ResNet<Block>::forward(const torch::Tensor& images) {
  auto x = bn1_(conv1_(images)).relu_();
  if (stem_ == Stem::Large) x = torch::max_pool2d(x, 3, 2, 1);
  for (auto& layer : layers_) x = layer->forward(x);
  return fc_(x.mean({2, 3}));
}

template <class Block>
void ResNet<Block>::translate(WeightSet& weights) const {
  weights.rename([](const std::string& name) {
    if (name.starts_with("linear.")) return replaced(name, "linear.", "fc.");
    return replaced(name, ".shortcut.", ".downsample.");
  });
}

template class ResNet<BasicBlock>;
template class ResNet<Bottleneck>;

}  // namespace rcap
