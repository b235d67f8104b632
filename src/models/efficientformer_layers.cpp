#include "models/efficientformer_layers.hpp"

#include <cmath>

namespace rcap::efficientformer {
namespace {

constexpr int Heads = 8;
constexpr int ValuesPerKey = 4;  ///< a head's values are this many times as wide as its keys
constexpr int KeyWidth = 32;
constexpr int DownsampleKeyWidth = 16;
constexpr double InitialScale = 1e-5;

constexpr int keys_width(int key_width) { return Heads * key_width; }
constexpr int values_width(int key_width) { return keys_width(key_width) * ValuesPerKey; }

torch::nn::Conv2d talking_head() {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(Heads, Heads, 1));
}

torch::nn::Conv2dOptions depthwise_options(int width, int stride) {
  return torch::nn::Conv2dOptions(width, width, 3).stride(stride).padding(1).groups(width);
}

/// B x (heads * w) x R x C -> B x heads x w x positions: a view, channels-last too.
torch::Tensor split_heads(const torch::Tensor& map) {
  return map.flatten(2).unflatten(1, {Heads, map.size(1) / Heads});
}

/// How well each query matches each key: B x heads x queries x keys.
torch::Tensor scores(const torch::Tensor& query_map, const torch::Tensor& key_map,
                     const torch::Tensor& bias) {
  const auto queries = split_heads(query_map);
  const double scale = 1.0 / std::sqrt(static_cast<double>(queries.size(2)));
  return queries.transpose(2, 3).matmul(split_heads(key_map)) * scale + bias;
}

/// The values selected by the weights (B x heads x queries x keys), plus the local ones: a map of
/// the shape and memory format of `v_local`.
torch::Tensor gather(const torch::Tensor& weights, const torch::Tensor& v,
                     const torch::Tensor& v_local) {
  const auto picked = split_heads(v).matmul(weights.transpose(2, 3));
  return v_local + picked.reshape(v_local.sizes());
}

}  // namespace

ConvNormImpl::ConvNormImpl(const torch::nn::Conv2dOptions& options)
    : conv_(register_module("conv", torch::nn::Conv2d(options))),
      bn_(register_module("bn", torch::nn::BatchNorm2d(options.out_channels()))) {}

ConvNorm conv1x1(int from, int to) { return ConvNorm(torch::nn::Conv2dOptions(from, to, 1)); }

ConvNorm conv3x3(int from, int to, int stride) {
  return ConvNorm(torch::nn::Conv2dOptions(from, to, 3).stride(stride).padding(1));
}

ConvNorm depthwise(int width, int stride) { return ConvNorm(depthwise_options(width, stride)); }

StemImpl::StemImpl(int channels, int width)
    : conv1_(register_module("conv1", conv3x3(channels, width / 2, 2))),
      conv2_(register_module("conv2", conv3x3(width / 2, width, 2))) {}

torch::Tensor StemImpl::forward(const torch::Tensor& images) {
  return torch::gelu(conv2_(torch::gelu(conv1_(images))));
}

LayerScaleImpl::LayerScaleImpl(int width)
    : gamma_(register_parameter("gamma", torch::full({width}, InitialScale))) {}

DistanceBias::DistanceBias(Grid keys, int query_step) : keys_(keys.positions()) {
  // Distances along one side, queries x keys.
  const auto distances = [query_step](std::int64_t side) {
    const auto keys_of_side = torch::arange(side);
    return (torch::arange(0, side, query_step).unsqueeze(1) - keys_of_side).abs();
  };
  const auto rows = distances(keys.rows);
  const auto columns = distances(keys.columns);
  // [query row, query column, key row, key column]
  table_ =
      (rows.unsqueeze(1).unsqueeze(3) * keys.columns + columns.unsqueeze(0).unsqueeze(2)).flatten();
}

torch::Tensor DistanceBias::initial(int heads) const { return torch::zeros({heads, keys_}); }

torch::Tensor DistanceBias::spread(const torch::Tensor& attention_biases) {
  table_ = table_.to(attention_biases.device());
  return attention_biases.index_select(1, table_).view({attention_biases.size(0), -1, keys_});
}

AttentionImpl::AttentionImpl(int width, Grid grid, bool halves)
    : q_(conv1x1(width, keys_width(KeyWidth))),
      k_(conv1x1(width, keys_width(KeyWidth))),
      v_(conv1x1(width, values_width(KeyWidth))),
      v_local_(depthwise(values_width(KeyWidth), 1)),
      proj_(conv1x1(values_width(KeyWidth), width)),
      talking_head1_(talking_head()),
      talking_head2_(talking_head()),
      bias_(halves ? grid.halved() : grid, 1) {
  if (halves) stride_conv_ = register_module("stride_conv", depthwise(width, 2));
  register_module("q", q_);
  register_module("k", k_);
  register_module("v", v_);
  register_module("v_local", v_local_);
  register_module("talking_head1", talking_head1_);
  register_module("talking_head2", talking_head2_);
  register_module("proj", proj_);
  attention_biases_ = register_parameter("attention_biases", bias_.initial(Heads));
}

torch::Tensor AttentionImpl::forward(const torch::Tensor& x) {
  const auto y = stride_conv_.is_empty() ? x : stride_conv_(x);
  const auto v = v_(y);
  auto weights = talking_head1_(scores(q_(y), k_(y), bias_.spread(attention_biases_)));
  weights = talking_head2_(weights.softmax(-1));
  auto mixed = gather(weights, v, v_local_(v));
  if (!stride_conv_.is_empty()) {
    mixed = torch::upsample_bilinear2d(mixed, {x.size(2), x.size(3)}, /*align_corners=*/false);
  }
  return proj_(torch::gelu(mixed));
}

LocalGlobalQueryImpl::LocalGlobalQueryImpl(int from, int to)
    : local_(register_module("local", torch::nn::Conv2d(depthwise_options(from, 2)))),
      proj_(register_module("proj", conv1x1(from, to))) {}

torch::Tensor LocalGlobalQueryImpl::forward(const torch::Tensor& x) {
  const auto every_second = torch::avg_pool2d(x, /*kernel_size=*/1, /*stride=*/2);
  return proj_(local_(x) + every_second);
}

AttentionDownsampleImpl::AttentionDownsampleImpl(int from, int to, Grid grid)
    : q_(register_module("q", LocalGlobalQuery(from, keys_width(DownsampleKeyWidth)))),
      k_(register_module("k", conv1x1(from, keys_width(DownsampleKeyWidth)))),
      v_(register_module("v", conv1x1(from, values_width(DownsampleKeyWidth)))),
      v_local_(register_module("v_local", depthwise(values_width(DownsampleKeyWidth), 2))),
      proj_(register_module("proj", conv1x1(values_width(DownsampleKeyWidth), to))),
      bias_(grid, 2),
      attention_biases_(register_parameter("attention_biases", bias_.initial(Heads))) {}

torch::Tensor AttentionDownsampleImpl::forward(const torch::Tensor& x) {
  const auto v = v_(x);
  const auto weights = scores(q_(x), k_(x), bias_.spread(attention_biases_)).softmax(-1);
  return proj_(torch::gelu(gather(weights, v, v_local_(v))));
}

DownsampleImpl::DownsampleImpl(int from, int to, Grid grid, bool attends)
    : conv_(conv3x3(from, to, 2)) {
  register_module("conv", conv_);
  if (attends) attn_ = register_module("attn", AttentionDownsample(from, to, grid));
}

torch::Tensor DownsampleImpl::forward(const torch::Tensor& x) {
  return attn_.is_empty() ? conv_(x) : conv_(x) + attn_(x);
}

MlpImpl::MlpImpl(int width, int hidden_width)
    : fc1_(register_module("fc1", conv1x1(width, hidden_width))),
      mid_(register_module("mid", depthwise(hidden_width, 1))),
      fc2_(register_module("fc2", conv1x1(hidden_width, width))) {}

torch::Tensor MlpImpl::forward(const torch::Tensor& x) {
  return fc2_(torch::gelu(mid_(torch::gelu(fc1_(x)))));
}

BlockImpl::BlockImpl(int width, int mlp_ratio, double drop_probability, Attention token_mixer)
    : token_mixer_(std::move(token_mixer)),
      ls2_(width),
      mlp_(width, width * mlp_ratio),
      drop_path2_(drop_probability) {
  if (!token_mixer_.is_empty()) {
    register_module("token_mixer", token_mixer_);
    ls1_ = register_module("ls1", LayerScale(width));
    drop_path1_ = register_module("drop_path1", DropPath(drop_probability));
  }
  register_module("mlp", mlp_);
  register_module("ls2", ls2_);
  register_module("drop_path2", drop_path2_);
}

torch::Tensor BlockImpl::forward(const torch::Tensor& x) {
  auto y = x;
  if (!token_mixer_.is_empty()) y = y + drop_path1_(ls1_(token_mixer_(y)));
  return y + drop_path2_(ls2_(mlp_(y)));
}

}  // namespace rcap::efficientformer
