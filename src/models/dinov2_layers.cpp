#include "models/dinov2_layers.hpp"

namespace rcap::dinov2 {
namespace {

constexpr int Heads = 12;
constexpr int HiddenWidth = 4 * Width;
constexpr int HeadWidth = 512;
constexpr double NormEpsilon = 1e-6;

torch::nn::Linear linear(int from, int to) {
  torch::nn::Linear layer(from, to);
  torch::nn::init::normal_(layer->weight, 0.0, 0.02);
  torch::nn::init::zeros_(layer->bias);
  return layer;
}

torch::Tensor resize(const torch::Tensor& patch_positions, std::int64_t rows,
                     std::int64_t columns) {
  const auto map = patch_positions.transpose(1, 2).reshape({1, Width, GridSide, GridSide});
  namespace F = torch::nn::functional;
  const auto resized = F::interpolate(map, F::InterpolateFuncOptions()
                                               .size(std::vector<std::int64_t>{rows, columns})
                                               .mode(torch::kBicubic)
                                               .align_corners(false)
                                               .antialias(true));
  return resized.flatten(2).transpose(1, 2).contiguous();
}

}  // namespace

PatchEmbedImpl::PatchEmbedImpl(int channels)
    : proj_(register_module(
          "proj", torch::nn::Conv2d(
                      torch::nn::Conv2dOptions(channels, Width, PatchSide).stride(PatchSide)))) {}

torch::Tensor PatchEmbedImpl::forward(const torch::Tensor& images) {
  return proj_(images).flatten(2).transpose(1, 2);
}

LayerScaleImpl::LayerScaleImpl() : gamma_(register_parameter("gamma", torch::ones({Width}))) {}

AttentionImpl::AttentionImpl()
    : qkv_(register_module("qkv", linear(Width, 3 * Width))),
      proj_(register_module("proj", linear(Width, Width))) {}

torch::Tensor AttentionImpl::forward(const torch::Tensor& x) {
  // N x T x (3 * Width) -> 3 x N x heads x T x width of a head
  const auto qkv = qkv_(x).unflatten(2, {3, Heads, Width / Heads}).permute({2, 0, 3, 1, 4});
  const auto mixed = at::scaled_dot_product_attention(qkv[0], qkv[1], qkv[2]);
  return proj_(mixed.transpose(1, 2).flatten(2));
}

MlpImpl::MlpImpl()
    : fc1_(register_module("fc1", linear(Width, HiddenWidth))),
      fc2_(register_module("fc2", linear(HiddenWidth, Width))) {}

torch::Tensor MlpImpl::forward(const torch::Tensor& x) { return fc2_(torch::gelu(fc1_(x))); }

torch::nn::LayerNorm make_norm() {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({Width}).eps(NormEpsilon));
}

BlockImpl::BlockImpl() : norm1_(make_norm()), norm2_(make_norm()) {
  register_module("norm1", norm1_);
  register_module("attn", attn_);
  register_module("ls1", ls1_);
  register_module("norm2", norm2_);
  register_module("mlp", mlp_);
  register_module("ls2", ls2_);
}

torch::Tensor BlockImpl::forward(const torch::Tensor& x) {
  const auto y = x + ls1_(attn_(norm1_(x)));
  return y + ls2_(mlp_(norm2_(y)));
}

torch::nn::Sequential make_head(HeadActivation activation, ClassId class_count) {
  torch::nn::Sequential head;
  head->push_back(torch::nn::Linear(3 * Width, HeadWidth));
  switch (activation) {
    case HeadActivation::Relu:
      head->push_back(torch::nn::ReLU());
      break;
    case HeadActivation::Gelu:
      head->push_back(torch::nn::GELU());
      break;
    case HeadActivation::None:
      head->push_back(torch::nn::Identity());
      break;
  }
  head->push_back(torch::nn::Linear(HeadWidth, class_count));
  return head;
}

const torch::Tensor& PatchPositions::resized(const torch::Tensor& pos_embed, std::int64_t rows,
                                             std::int64_t columns) {
  forget_others_than(pos_embed);
  torch::Tensor& positions = of_grid_[{rows, columns}];
  if (positions.defined()) return positions;
  const auto learned = pos_embed.slice(1, 1);
  const bool is_learned_grid = rows == GridSide && columns == GridSide;
  positions = is_learned_grid ? learned : resize(learned, rows, columns);
  return positions;
}

void PatchPositions::forget_others_than(const torch::Tensor& pos_embed) {
  const void* data = pos_embed.const_data_ptr();
  const auto version = static_cast<std::uint32_t>(pos_embed._version());
  if (data == data_ && version == version_) return;
  of_grid_.clear();
  data_ = data;
  version_ = version;
}

}  // namespace rcap::dinov2
