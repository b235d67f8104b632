#pragma once

#include <string_view>

#include "models/efficientformer_layers.hpp"
#include "models/make_model.hpp"

namespace rcap {

enum class EfficientFormerSize { S0, S1, S2, L };

/// EfficientFormerV2: convolutions, and in the last two of four stages attention too. Two
/// classifiers read the last map, and the logits are the mean of theirs, in training too.
///
/// Made for images of one size, on which the shape of the attention biases depends. Names,
/// initial values and drop path are timm's (efficientformerv2_s0, _s1, _s2, _l).
class EfficientFormerV2 final : public Network {
 public:
  /// @throws InvalidArgument  an image side that the network cannot halve and double again: it
  ///                          must be a multiple of 32, or less by at most 15
  EfficientFormerV2(EfficientFormerSize size, const ModelOptions& options);

  /// @throws InvalidArgument  images of a size other than the network was made for
  torch::Tensor forward(const torch::Tensor& images) override;

  [[nodiscard]] std::vector<std::string> head_names() const override {
    return {"head", "head_dist"};
  }
  /// Sets aside the index tables that some files contain.
  void translate(WeightSet& weights) const override;

 private:
  std::string_view name_;
  efficientformer::Grid image_;
  efficientformer::Stem stem_{nullptr};
  torch::nn::Sequential stages_;
  torch::nn::BatchNorm2d norm_{nullptr};
  torch::nn::Linear head_{nullptr}, head_dist_{nullptr};
};

}  // namespace rcap
