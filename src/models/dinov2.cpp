#include "models/dinov2.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "io/refuse_file.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

using dinov2::PatchSide;
using dinov2::Width;

constexpr int EncoderBlocks = 12;
constexpr int RegisterCount = 4;
constexpr int PositionCount = dinov2::GridSide * dinov2::GridSide;

void check_image_size(std::int64_t height, std::int64_t width) {
  if (height > 0 && width > 0 && height % PatchSide == 0 && width % PatchSide == 0) return;
  throw InvalidArgument(fmt::format(
      "model dinov2-mlp: images of {} x {} pixels (height x width) cannot be divided into patches; "
      "both sides must be multiples of {}, such as 224 or 518; choose another size or crop",
      height, width, PatchSide));
}

/// timm adds the class token's position to the token, and has no token for masked patches.
void translate_from_timm(WeightSet& weights) {
  const torch::Tensor positions = weights.at("pos_embed");
  if (positions.sizes() != torch::IntArrayRef({1, PositionCount, Width})) {
    refuse_file(weights.path(),
                "tensor pos_embed has shape {}; in timm's vit_base_patch14_reg4_dinov2 it has [1, "
                "{}, {}]; use its weights",
                positions.sizes().vec(), PositionCount, Width);
  }
  weights.replace("pos_embed", torch::cat({torch::zeros({1, 1, Width}), positions}, 1));
  weights.add("mask_token", torch::zeros({1, Width}));
  weights.rename([](const std::string& name) {
    return name == "reg_token" ? std::string("register_tokens") : name;
  });
}

}  // namespace

DinoV2Mlp::DinoV2Mlp(const ModelOptions& options) : features_(options.dino.features) {
  check_image_size(options.image_height, options.image_width);
  add_backbone(options.channels);
  for (torch::Tensor& parameter : parameters()) parameter.set_requires_grad(false);
  head_ =
      register_module("head", dinov2::make_head(options.dino.head_activation, options.class_count));
  train(is_training());
}

void DinoV2Mlp::add_backbone(int channels) {
  cls_token_ = register_parameter("cls_token", torch::randn({1, 1, Width}) * 1e-6);
  pos_embed_ = register_parameter("pos_embed", torch::randn({1, 1 + PositionCount, Width}) * 0.02);
  register_tokens_ =
      register_parameter("register_tokens", torch::randn({1, RegisterCount, Width}) * 1e-6);
  // For masked patches, which only pretraining has; official files contain it.
  register_parameter("mask_token", torch::zeros({1, Width}));
  patch_embed_ = register_module("patch_embed", dinov2::PatchEmbed(channels));
  register_module("blocks", blocks_);
  for (int i = 0; i < EncoderBlocks; ++i) blocks_->push_back(dinov2::Block());
  norm_ = register_module("norm", dinov2::make_norm());
}

void DinoV2Mlp::train(bool on) {
  Network::train(on);
  patch_embed_->eval();
  blocks_->eval();
  norm_->eval();
}

torch::Tensor DinoV2Mlp::embed(const torch::Tensor& images) {
  const std::int64_t count = images.size(0);
  const auto& positions =
      positions_.resized(pos_embed_, images.size(2) / PatchSide, images.size(3) / PatchSide);
  const auto class_token = cls_token_ + pos_embed_.narrow(1, 0, 1);
  return torch::cat({class_token.expand({count, -1, -1}), register_tokens_.expand({count, -1, -1}),
                     patch_embed_(images) + positions},
                    1);
}

DinoV2Mlp::Tokens DinoV2Mlp::run_backbone(const torch::Tensor& images) {
  check_image_size(images.size(2), images.size(3));
  const torch::NoGradGuard no_grad;
  Tokens tokens;
  auto x = embed(images);
  constexpr std::size_t FirstKept = EncoderBlocks - std::tuple_size_v<decltype(tokens.classes)>;
  for (std::size_t i = 0; i < EncoderBlocks; ++i) {
    x = blocks_->ptr<dinov2::BlockImpl>(i)->forward(x);
    if (i >= FirstKept) tokens.classes.at(i - FirstKept) = norm_(x.select(1, 0));
  }
  x = norm_(x);
  tokens.registers = x.narrow(1, 1, RegisterCount);
  tokens.patches = x.slice(1, 1 + RegisterCount);
  return tokens;
}

torch::Tensor DinoV2Mlp::Tokens::features(DinoFeatures kind) const {
  switch (kind) {
    case DinoFeatures::ClsRegPatch:
      return torch::cat({classes[2], registers.mean(1), patches.mean(1)}, 1);
    case DinoFeatures::Cls2Avg:
      return torch::cat({classes[1], classes[2], patches.mean(1)}, 1);
    case DinoFeatures::Cls3:
      return torch::cat({classes[0], classes[1], classes[2]}, 1);
  }
  throw InternalError("DinoFeatures has a value without a meaning");
}

torch::Tensor DinoV2Mlp::forward(const torch::Tensor& images) {
  return head_->forward(run_backbone(images).features(features_));
}

NamedTensors DinoV2Mlp::tokens(const torch::Tensor& images) {
  const Tokens last = run_backbone(images);
  return {{"tok_cls", last.classes[2]},
          {"tok_reg", last.registers},
          {"tok_patch", last.patches},
          {"feat.cls_reg_patch", last.features(DinoFeatures::ClsRegPatch)},
          {"feat.cls2_avg", last.features(DinoFeatures::Cls2Avg)},
          {"feat.cls3", last.features(DinoFeatures::Cls3)}};
}

void DinoV2Mlp::translate(WeightSet& weights) const {
  if (weights.contains("register_tokens")) return;
  if (weights.contains("reg_token")) return translate_from_timm(weights);
  refuse_file(weights.path(),
              "has neither register_tokens (official names) nor reg_token (timm's); dinov2-mlp "
              "needs weights of dinov2_vitb14_reg, not of a model without registers");
}

}  // namespace rcap
