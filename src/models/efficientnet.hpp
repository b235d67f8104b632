#pragma once

#include <memory>
#include <vector>

#include "models/drop_path.hpp"
#include "models/make_model.hpp"

namespace rcap {

/// A convolution and batch norm, with SiLU if asked for. Names are torchvision's.
class ConvNorm final : public torch::nn::Module {
 public:
  enum class Activation { Silu, None };

  ConvNorm(torch::nn::Conv2d convolution, Activation activation);

  torch::Tensor forward(const torch::Tensor& x);

 private:
  torch::nn::Conv2d conv_;
  torch::nn::BatchNorm2d norm_;
  Activation activation_;
};

/// Scales each channel by a factor in (0, 1) computed from the means of all channels.
class SqueezeExcite final : public torch::nn::Module {
 public:
  SqueezeExcite(int channels, int squeezed);

  torch::Tensor forward(const torch::Tensor& x);

 private:
  torch::nn::Conv2d fc1_, fc2_;
};

/// What the blocks of one stage share; the first one has the stride and the new width.
struct MbStage {
  int block_count;
  int kernel;
  int stride;
  int from;
  int to;
  int expansion;
};

/// An inverted bottleneck: expand, filter each channel, weigh the channels, project.
class MbConv final : public torch::nn::Module {
 public:
  /// @param position          in the stage, from 0
  /// @param drop_probability  of the branch, if there is a shortcut
  MbConv(const MbStage& stage, int position, double drop_probability);

  torch::Tensor forward(const torch::Tensor& x);

 private:
  std::shared_ptr<ConvNorm> expand_;  ///< absent if the expansion is 1
  std::shared_ptr<ConvNorm> depthwise_;
  std::shared_ptr<SqueezeExcite> squeeze_excite_;
  std::shared_ptr<ConvNorm> project_;
  DropPath drop_path_;
  bool has_shortcut_;
};

/// EfficientNet-b3. 12.2 million parameters with 1000 classes.
class EfficientNetB3 final : public Network {
 public:
  explicit EfficientNetB3(const ModelOptions& options);

  torch::Tensor forward(const torch::Tensor& images) override;
  [[nodiscard]] std::vector<std::string> head_names() const override { return {"classifier.1"}; }
  /// Accepts timm's names too.
  void translate(WeightSet& weights) const override;

 private:
  std::shared_ptr<ConvNorm> stem_;
  std::vector<torch::nn::Sequential> stages_;
  std::shared_ptr<ConvNorm> last_;
  torch::nn::Sequential classifier_;
};

}  // namespace rcap
