#include "models/efficientnet.hpp"

#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "models/convolution.hpp"

namespace rcap {
namespace {

constexpr std::array Stages{
    MbStage{2, 3, 1, 40, 24, 1},   MbStage{3, 3, 2, 24, 32, 6},  MbStage{3, 5, 2, 32, 48, 6},
    MbStage{5, 3, 2, 48, 96, 6},   MbStage{5, 5, 1, 96, 136, 6}, MbStage{6, 5, 2, 136, 232, 6},
    MbStage{2, 3, 1, 232, 384, 6},
};
constexpr int StemWidth = 40;
constexpr int LastWidth = 1536;
constexpr double Dropout = 0.3;
constexpr double DropPathRate = 0.2;  ///< what a block after the last would have

constexpr int BlockCount = [] {
  int count = 0;
  for (const MbStage& stage : Stages) count += stage.block_count;
  return count;
}();

torch::nn::Conv2d convolution_with_bias(int from, int to) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(from, to, 1));
}

torch::nn::Sequential make_stage(const MbStage& stage, int first_block) {
  torch::nn::Sequential blocks;
  for (int i = 0; i < stage.block_count; ++i) {
    const double drop_probability = DropPathRate * (first_block + i) / BlockCount;
    blocks->push_back(MbConv(stage, i, drop_probability));
  }
  return blocks;
}

void initialise_linear(torch::nn::Linear layer) {
  const double range = 1.0 / std::sqrt(static_cast<double>(layer->weight.size(0)));
  torch::nn::init::uniform_(layer->weight, -range, range);
  torch::nn::init::zeros_(layer->bias);
}

struct NamePair {
  std::string_view timm;
  std::string_view torchvision;
};

constexpr NamePair OuterNames[] = {
    {"conv_stem.", "features.0.0."},  {"bn1.", "features.0.1."},
    {"conv_head.", "features.8.0."},  {"bn2.", "features.8.1."},
    {"classifier.", "classifier.1."},
};
/// For a block without expansion, in stage 0; timm's `conv_pw` means something else there.
constexpr NamePair FirstStageNames[] = {
    {"conv_dw.", "0.0."},          {"bn1.", "0.1."},     {"se.conv_reduce.", "1.fc1."},
    {"se.conv_expand.", "1.fc2."}, {"conv_pw.", "2.0."}, {"bn2.", "2.1."},
};
constexpr NamePair BlockNames[] = {
    {"conv_pw.", "0.0."},          {"bn1.", "0.1."},
    {"conv_dw.", "1.0."},          {"bn2.", "1.1."},
    {"se.conv_reduce.", "2.fc1."}, {"se.conv_expand.", "2.fc2."},
    {"conv_pwl.", "3.0."},         {"bn3.", "3.1."},
};

/// `name` with its beginning translated; unchanged if no pair matches.
std::string translated(std::string_view name, std::span<const NamePair> pairs) {
  for (const NamePair& pair : pairs) {
    if (!name.starts_with(pair.timm)) continue;
    return std::string(pair.torchvision).append(name.substr(pair.timm.size()));
  }
  return std::string(name);
}

/// `blocks.2.0.conv_pw.weight` is `features.3.0.block.0.0.weight`.
std::string torchvision_name(const std::string& name) {
  constexpr std::string_view Blocks = "blocks.";
  if (!name.starts_with(Blocks)) return translated(name, OuterNames);
  const std::size_t stage_end = name.find('.', Blocks.size());
  const std::size_t block_end =
      stage_end == std::string::npos ? stage_end : name.find('.', stage_end + 1);
  const std::size_t stage_digits = stage_end - Blocks.size();
  if (block_end == std::string::npos || stage_digits != 1) return name;
  const char stage = name[Blocks.size()];
  const std::string_view rest = std::string_view(name).substr(block_end + 1);
  const std::string_view block =
      std::string_view(name).substr(stage_end + 1, block_end - stage_end - 1);
  return fmt::format(
      "features.{}.{}.block.{}", static_cast<char>(stage + 1), block,
      stage == '0' ? translated(rest, FirstStageNames) : translated(rest, BlockNames));
}

}  // namespace

ConvNorm::ConvNorm(torch::nn::Conv2d convolution, Activation activation)
    : conv_(std::move(convolution)), norm_(conv_->options.out_channels()), activation_(activation) {
  register_module("0", conv_);
  register_module("1", norm_);
}

torch::Tensor ConvNorm::forward(const torch::Tensor& x) {
  const auto y = norm_(conv_(x));
  // Not in place: its gradient needs the input, so that would make a copy first.
  return activation_ == Activation::Silu ? torch::silu(y) : y;
}

SqueezeExcite::SqueezeExcite(int channels, int squeezed)
    : fc1_(register_module("fc1", convolution_with_bias(channels, squeezed))),
      fc2_(register_module("fc2", convolution_with_bias(squeezed, channels))) {}

torch::Tensor SqueezeExcite::forward(const torch::Tensor& x) {
  const auto means = x.mean({2, 3}, /*keepdim=*/true);
  return x * torch::sigmoid(fc2_(torch::silu(fc1_(means))));
}

MbConv::MbConv(const MbStage& stage, int position, double drop_probability)
    : drop_path_(drop_probability) {
  const int from = position == 0 ? stage.from : stage.to;
  const int stride = position == 0 ? stage.stride : 1;
  const int expanded = from * stage.expansion;
  has_shortcut_ = stride == 1 && from == stage.to;
  using enum ConvNorm::Activation;
  if (expanded != from) {
    expand_ = std::make_shared<ConvNorm>(convolution(from, expanded, 1, 1), Silu);
  }
  depthwise_ = std::make_shared<ConvNorm>(
      convolution(expanded, expanded, stage.kernel, stride, /*groups=*/expanded), Silu);
  squeeze_excite_ = std::make_shared<SqueezeExcite>(expanded, from / 4);
  project_ = std::make_shared<ConvNorm>(convolution(expanded, stage.to, 1, 1), None);

  const auto block = register_module("block", std::make_shared<torch::nn::Module>());
  const auto add_part = [&](const auto& part) {
    block->register_module(std::to_string(block->children().size()), part);
  };
  if (expand_) add_part(expand_);
  add_part(depthwise_);
  add_part(squeeze_excite_);
  add_part(project_);
  register_module("stochastic_depth", drop_path_);
}

torch::Tensor MbConv::forward(const torch::Tensor& x) {
  auto y = expand_ ? expand_->forward(x) : x;
  y = project_->forward(squeeze_excite_->forward(depthwise_->forward(y)));
  return has_shortcut_ ? drop_path_(y) + x : y;
}

EfficientNetB3::EfficientNetB3(const ModelOptions& options) {
  using enum ConvNorm::Activation;
  const auto features = register_module("features", std::make_shared<torch::nn::Module>());
  stem_ = std::make_shared<ConvNorm>(convolution(options.channels, StemWidth, 3, 2), Silu);
  features->register_module("0", stem_);
  int block_count = 0;
  for (const MbStage& stage : Stages) {
    stages_.push_back(make_stage(stage, block_count));
    features->register_module(std::to_string(stages_.size()), stages_.back());
    block_count += stage.block_count;
  }
  last_ = std::make_shared<ConvNorm>(convolution(Stages.back().to, LastWidth, 1, 1), Silu);
  features->register_module(std::to_string(stages_.size() + 1), last_);

  const torch::nn::Linear linear(LastWidth, options.class_count);
  classifier_ = torch::nn::Sequential(torch::nn::Dropout(Dropout), linear);
  register_module("classifier", classifier_);
  initialise_convolutions(*this);
  initialise_linear(linear);
}

torch::Tensor EfficientNetB3::forward(const torch::Tensor& images) {
  auto x = stem_->forward(images);
  for (auto& stage : stages_) x = stage->forward(x);
  return classifier_->forward(last_->forward(x).mean({2, 3}));
}

void EfficientNetB3::translate(WeightSet& weights) const {
  if (weights.contains("conv_stem.weight")) weights.rename(torchvision_name);
}

}  // namespace rcap
