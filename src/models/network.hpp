#pragma once

#include <string>
#include <vector>

#include <torch/torch.h>

#include "models/stored_tensor.hpp"
#include "models/weight_set.hpp"

namespace rcap {

/// A network that classifies images.
///
/// Parameters and buffers have the names of the network's best-known implementation, so that its
/// weight files load by name (`load_weights`).
class Network : public torch::nn::Module {
 public:
  /// @param images  N x C x H x W, normalised, any memory format
  /// @return logits, N x classes
  virtual torch::Tensor forward(const torch::Tensor& images) = 0;

  /// What the network computes on the way to its logits, by name, if that is worth comparing with
  /// other implementations.
  virtual NamedTensors tokens(const torch::Tensor& images) {
    (void)images;
    return {};
  }

  /// What the names of the classifier's tensors begin with, up to a dot. A weight file may lack
  /// them, and in one for another number of classes their shapes differ: then the classifier keeps
  /// its initial values.
  [[nodiscard]] virtual std::vector<std::string> head_names() const { return {"fc"}; }

  /// Converts the tensors of a weight file to this network's names, shapes and values if they come
  /// from another known implementation, and sets aside (`WeightSet::ignore`) what is not used here.
  /// Unknown tensors stay as they are; `load_weights` checks the outcome.
  /// @throws BadFile  tensors that match none of the known implementations
  virtual void translate(WeightSet& weights) const { (void)weights; }
};

/// Puts the random layers of a network (dropout, drop path) into evaluation mode, whatever the mode
/// of the rest. `Module::train` undoes it.
void turn_off_chance(torch::nn::Module& network);

/// Puts convolution weights into channels-last memory format, which `Module::to` cannot do.
void use_channels_last(torch::nn::Module& network);

}  // namespace rcap
