#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <torch/torch.h>

#include "rcap/data/batch_reader.hpp"
#include "rcap/models/network.hpp"
#include "rcap/train/options.hpp"
#include "train/optimizer.hpp"

namespace rcap {

/// A network, its optimiser and the device they are on: all that computes in a run.
class Engine {
 public:
  /// @throws InvalidArgument  an unknown network, a device or precision that is not there
  Engine(const TrainOptions& options, ImageShape shape, ClassId class_count);

  /// Computes the loss of each sample of a batch, for `update` to learn from.
  ///
  /// @param seed  of what the network draws by chance (dropout)
  /// @return one loss per sample, before any weight; holds until the next call
  std::span<const float> forward(const Batch& batch, std::uint64_t seed);
  /// The outputs of the last `forward`, one row a sample, on the processor.
  [[nodiscard]] std::span<const float> logits();
  /// The same as probabilities.
  [[nodiscard]] std::span<const float> probabilities();

  /// Takes one step down the mean of the last `forward`'s losses.
  /// @param weights  a factor of each sample's loss, or none; the sum is divided by the size
  ///                 of the batch all the same
  void update(std::span<const float> weights, double learning_rate);

  /// Losses of untrained samples: no gradients, no dropout, batch norm on the statistics of
  /// the batch and without remembering them (an untrained network's own mean nothing).
  std::span<const float> initial_losses(const Batch& batch);

  /// The class with the highest output for each sample, in evaluation mode.
  std::span<const std::int64_t> predict(const Batch& batch);

  /// Everything that training changes; the tensors themselves.
  [[nodiscard]] NamedTensors state() const;

 private:
  [[nodiscard]] torch::Tensor images_of(const Batch& batch) const;
  [[nodiscard]] torch::Tensor run_network(const Batch& batch);
  [[nodiscard]] torch::Tensor losses_of(const torch::Tensor& logits, const Batch& batch) const;

  torch::Device device_;
  Precision precision_;
  bool channels_last_;
  ImageShape shape_;
  std::shared_ptr<Network> network_;
  Optimizer optimizer_;
  torch::Tensor logits_;
  torch::Tensor losses_;       ///< of the last forward, with gradients
  torch::Tensor host_losses_;  ///< the same on the processor
  torch::Tensor host_outputs_;
  torch::Tensor predictions_;
};

}  // namespace rcap
