#pragma once

#include <array>

#include "models/dinov2_layers.hpp"
#include "models/make_model.hpp"

namespace rcap {

/// The frozen vision transformer DINOv2 ViT-B/14 with 4 registers and, on top of its features, a
/// classifier of two linear layers, 2304-512-classes: `head.0`, `head.2`.
///
/// Only the classifier is trained. The backbone's parameters need no gradients, its pass keeps
/// nothing for a backward pass, and it stays in evaluation mode whatever `train` is called with.
/// Without a weight file it has random values, of little use except for experiments.
class DinoV2Mlp final : public Network {
 public:
  /// @throws InvalidArgument  an image side that is not a multiple of 14
  explicit DinoV2Mlp(const ModelOptions& options);

  /// Images of any size that can be divided into patches: positions are interpolated, once per
  /// size.
  /// @throws InvalidArgument  an image side that is not a multiple of 14
  torch::Tensor forward(const torch::Tensor& images) override;

  /// The outputs of the backbone for the images, whatever features the classifier uses: `tok_cls`
  /// (N x 768), `tok_reg` (N x 4 x 768), `tok_patch` (N x patches x 768) and, N x 2304 each,
  /// `feat.cls_reg_patch`, `feat.cls2_avg`, `feat.cls3`.
  /// @throws InvalidArgument  an image side that is not a multiple of 14
  NamedTensors tokens(const torch::Tensor& images) override;

  void train(bool on = true) override;

  [[nodiscard]] std::vector<std::string> head_names() const override { return {"head"}; }
  /// Accepts the backbone under its official names and under timm's (vit_base_patch14_reg4_dinov2),
  /// with the classifier or without.
  void translate(WeightSet& weights) const override;

 private:
  struct Tokens {
    std::array<torch::Tensor, 3> classes;  ///< of the last three blocks, oldest first; N x 768
    torch::Tensor registers, patches;      ///< of the last block

    [[nodiscard]] torch::Tensor features(DinoFeatures kind) const;
  };

  void add_backbone(int channels);
  torch::Tensor embed(const torch::Tensor& images);
  Tokens run_backbone(const torch::Tensor& images);

  DinoFeatures features_;
  torch::Tensor cls_token_, pos_embed_, register_tokens_;
  dinov2::PatchEmbed patch_embed_{nullptr};
  torch::nn::ModuleList blocks_;
  torch::nn::LayerNorm norm_{nullptr};
  torch::nn::Sequential head_{nullptr};
  dinov2::PatchPositions positions_;
};

}  // namespace rcap
