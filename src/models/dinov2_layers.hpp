#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include <torch/torch.h>

#include "models/dino_options.hpp"
#include "rcap/core/ids.hpp"

/// The layers of the vision transformer DINOv2 ViT-B/14 (`dinov2.hpp`), with the official names.
namespace rcap::dinov2 {

inline constexpr int Width = 768;     ///< of a token
inline constexpr int PatchSide = 14;  ///< pixels
inline constexpr int GridSide =
    37;  ///< patches per side of the images that positions were learned on

/// Cuts images into patches: N x (rows * columns) x Width, row by row.
class PatchEmbedImpl final : public torch::nn::Module {
 public:
  explicit PatchEmbedImpl(int channels);

  torch::Tensor forward(const torch::Tensor& images);

 private:
  torch::nn::Conv2d proj_;
};
TORCH_MODULE(PatchEmbed);

/// A learned factor for each number of a token.
class LayerScaleImpl final : public torch::nn::Module {
 public:
  LayerScaleImpl();

  torch::Tensor forward(const torch::Tensor& x) { return x * gamma_; }

 private:
  torch::Tensor gamma_;
};
TORCH_MODULE(LayerScale);

/// Attention between all tokens.
class AttentionImpl final : public torch::nn::Module {
 public:
  AttentionImpl();

  torch::Tensor forward(const torch::Tensor& x);

 private:
  torch::nn::Linear qkv_, proj_;
};
TORCH_MODULE(Attention);

class MlpImpl final : public torch::nn::Module {
 public:
  MlpImpl();

  torch::Tensor forward(const torch::Tensor& x);

 private:
  torch::nn::Linear fc1_, fc2_;
};
TORCH_MODULE(Mlp);

/// Attention with a shortcut, then an MLP with another.
class BlockImpl final : public torch::nn::Module {
 public:
  BlockImpl();

  torch::Tensor forward(const torch::Tensor& x);

 private:
  torch::nn::LayerNorm norm1_, norm2_;
  Attention attn_;
  Mlp mlp_;
  LayerScale ls1_, ls2_;
};
TORCH_MODULE(Block);

[[nodiscard]] torch::nn::LayerNorm make_norm();

/// The classifier: two linear layers, 3 * Width to 512 to the classes, and what is between them.
[[nodiscard]] torch::nn::Sequential make_head(HeadActivation activation, ClassId class_count);

/// Learned positions interpolated to the grids of other image sizes, each computed once.
class PatchPositions {
 public:
  /// @param pos_embed  1 x (1 + GridSide * GridSide) x Width, the class token's position first. If
  ///                   its values change, everything is computed again
  /// @return 1 x (rows * columns) x Width, the patches' positions only
  [[nodiscard]] const torch::Tensor& resized(const torch::Tensor& pos_embed, std::int64_t rows,
                                             std::int64_t columns);

 private:
  void forget_others_than(const torch::Tensor& pos_embed);

  std::map<std::pair<std::int64_t, std::int64_t>, torch::Tensor> of_grid_;
  const void* data_ = nullptr;  ///< of the positions that `of_grid_` was made from
  std::uint32_t version_ = 0;   ///< LibTorch's count of writes to them
};

}  // namespace rcap::dinov2
