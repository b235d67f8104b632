#pragma once

#include <string>
#include <vector>

#include <torch/torch.h>

#include "models/stored_tensor.hpp"
#include "models/weight_set.hpp"

namespace rcap {

/// A network that classifies images.
///
/// Parameters and buffers carry the names of the network's best-known implementation, so that
/// its weight files load by name (`load_weights`).
class Network : public torch::nn::Module {
 public:
  /// @param images  N x C x H x W, normalised, any memory format
  /// @return logits, N x classes
  virtual torch::Tensor forward(const torch::Tensor& images) = 0;

  /// What the network makes of images on the way to its logits, by name, where that is worth
  /// comparing with other implementations.
  virtual NamedTensors tokens(const torch::Tensor& images) {
    (void)images;
    return {};
  }

  /// What the names of the classifier's tensors begin with, up to a dot. A weight file need not
  /// have them, and one for another number of classes has them in other shapes: then the
  /// classifier keeps its initial values.
  [[nodiscard]] virtual std::vector<std::string> head_names() const { return {"fc"}; }

  /// Brings the tensors of a weight file to this network's names, shapes and values where it
  /// knows other implementations, and sets aside (`WeightSet::ignore`) what has no use here.
  /// Tensors it does not know stay as they are; `load_weights` judges the outcome.
  /// @throws BadFile  tensors that fit none of the implementations known
  virtual void translate(WeightSet& weights) const { (void)weights; }
};

/// Puts the layers of a network that act by chance (dropout, drop path) into evaluation mode,
/// whatever the mode of the rest. `Module::train` undoes it.
void turn_off_chance(torch::nn::Module& network);

/// Puts convolution weights into channels-last memory format, which `Module::to` does not know.
void use_channels_last(torch::nn::Module& network);

}  // namespace rcap
