#pragma once

#include <cstdint>

#include <torch/torch.h>

#include "models/drop_path.hpp"

/// The layers of EfficientFormerV2 (`efficientformer.hpp`), with timm's names.
namespace rcap::efficientformer {

/// Rows and columns of a feature map.
struct Grid {
  std::int64_t rows;
  std::int64_t columns;

  [[nodiscard]] std::int64_t positions() const noexcept { return rows * columns; }
  /// After a convolution of stride 2, or at every second position from the first.
  [[nodiscard]] Grid halved() const noexcept { return {(rows + 1) / 2, (columns + 1) / 2}; }
};

/// A convolution with bias, then batch norm.
class ConvNormImpl final : public torch::nn::Module {
 public:
  explicit ConvNormImpl(const torch::nn::Conv2dOptions& options);

  torch::Tensor forward(const torch::Tensor& x) { return bn_(conv_(x)); }

 private:
  torch::nn::Conv2d conv_;
  torch::nn::BatchNorm2d bn_;
};
TORCH_MODULE(ConvNorm);

[[nodiscard]] ConvNorm conv1x1(int from, int to);
[[nodiscard]] ConvNorm conv3x3(int from, int to, int stride);
/// 3x3, each channel separately.
[[nodiscard]] ConvNorm depthwise(int width, int stride);

/// Two convolutions: a map of a quarter of the image's rows and columns.
class StemImpl final : public torch::nn::Module {
 public:
  StemImpl(int channels, int width);

  torch::Tensor forward(const torch::Tensor& images);

 private:
  ConvNorm conv1_, conv2_;
};
TORCH_MODULE(Stem);

/// A learned factor for each channel of a residual branch.
class LayerScaleImpl final : public torch::nn::Module {
 public:
  explicit LayerScaleImpl(int width);

  torch::Tensor forward(const torch::Tensor& x) { return x * gamma_.view({1, -1, 1, 1}); }

 private:
  torch::Tensor gamma_;
};
TORCH_MODULE(LayerScale);

/// A learned bias for each head and distance between a query and a key, the distance counted in
/// rows and columns: `attention_biases`, heads x positions. Queries are at every `query_step`-th
/// row and column of the keys' grid.
class DistanceBias {
 public:
  DistanceBias(Grid keys, int query_step);

  /// Initial values: no position is preferred.
  [[nodiscard]] torch::Tensor initial(int heads) const;
  /// @return heads x queries x keys, on the device of `attention_biases`
  [[nodiscard]] torch::Tensor spread(const torch::Tensor& attention_biases);

 private:
  std::int64_t keys_;
  torch::Tensor table_;  ///< column of `attention_biases`, for each query and key; not in the state
};

/// Attention between all positions of a map, mixed across heads before and after the softmax.
class AttentionImpl final : public torch::nn::Module {
 public:
  /// @param grid    of the map; with `halves` an even number of rows and columns
  /// @param halves  attention works on a map of half the size, which is enlarged again after it
  AttentionImpl(int width, Grid grid, bool halves);

  torch::Tensor forward(const torch::Tensor& x);

 private:
  ConvNorm stride_conv_{nullptr};  ///< if it halves
  ConvNorm q_, k_, v_, v_local_, proj_;
  torch::nn::Conv2d talking_head1_, talking_head2_;
  DistanceBias bias_;
  torch::Tensor attention_biases_;
};
TORCH_MODULE(Attention);

/// The queries of `AttentionDownsample`: for every second position, its own value and a convolution
/// of its surroundings.
class LocalGlobalQueryImpl final : public torch::nn::Module {
 public:
  LocalGlobalQueryImpl(int from, int to);

  torch::Tensor forward(const torch::Tensor& x);

 private:
  torch::nn::Conv2d local_;
  ConvNorm proj_;
};
TORCH_MODULE(LocalGlobalQuery);

/// Attention of every second position to all: a map of half the size.
class AttentionDownsampleImpl final : public torch::nn::Module {
 public:
  AttentionDownsampleImpl(int from, int to, Grid grid);

  torch::Tensor forward(const torch::Tensor& x);

 private:
  LocalGlobalQuery q_;
  ConvNorm k_, v_, v_local_, proj_;
  DistanceBias bias_;
  torch::Tensor attention_biases_;
};
TORCH_MODULE(AttentionDownsample);

/// Halves a map: a convolution, with attention beside it if asked for.
class DownsampleImpl final : public torch::nn::Module {
 public:
  DownsampleImpl(int from, int to, Grid grid, bool attends);

  torch::Tensor forward(const torch::Tensor& x);

 private:
  ConvNorm conv_;
  AttentionDownsample attn_{nullptr};
};
TORCH_MODULE(Downsample);

/// Two 1x1 convolutions with a depthwise one between them.
class MlpImpl final : public torch::nn::Module {
 public:
  MlpImpl(int width, int hidden_width);

  torch::Tensor forward(const torch::Tensor& x);

 private:
  ConvNorm fc1_, mid_, fc2_;
};
TORCH_MODULE(Mlp);

/// An MLP with a shortcut; before it, if a mixer is given, attention with another.
class BlockImpl final : public torch::nn::Module {
 public:
  /// @param token_mixer  may be null
  BlockImpl(int width, int mlp_ratio, double drop_probability, Attention token_mixer);

  torch::Tensor forward(const torch::Tensor& x);

 private:
  Attention token_mixer_;
  LayerScale ls1_{nullptr}, ls2_;
  Mlp mlp_;
  DropPath drop_path1_{nullptr}, drop_path2_;
};
TORCH_MODULE(Block);

}  // namespace rcap::efficientformer
