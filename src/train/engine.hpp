#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <torch/torch.h>

#include "data/batch_reader.hpp"
#include "models/network.hpp"
#include "train/optimizer.hpp"
#include "train/options.hpp"

namespace rcap {

/// A network, its optimiser and the device they are on: all that computes in a run.
///
/// A batch may go through the network in parts, each with its gradients added to those of the
/// parts before, so that only one part's outputs take memory at a time. Batch norm then sees a
/// part at a time.
class Engine {
 public:
  /// @throws InvalidArgument  an unknown network, a device or precision that is not there
  Engine(const TrainOptions& options, ImageShape shape, ClassId class_count);

  /// Computes the loss of each sample of a batch, for `update` to learn from.
  ///
  /// @param weights  a factor of each sample's loss, or none; the sum is divided by the size
  ///                 of the batch all the same
  /// @param seed     of what the network draws by chance (dropout)
  /// @return one loss per sample, before any weight; holds until the next call
  std::span<const float> forward(const Batch& batch, std::span<const float> weights,
                                 std::uint64_t seed);
  /// The outputs of the last `forward`, one row per sample, on the processor.
  [[nodiscard]] std::span<const float> logits();
  /// The same as probabilities.
  [[nodiscard]] std::span<const float> probabilities();

  /// Takes one step down the mean of the last `forward`'s weighted losses.
  void update(double learning_rate);

  /// Losses of untrained samples: no gradients, no dropout, batch norm on the statistics of
  /// the batch and without remembering them (an untrained network's own mean nothing).
  std::span<const float> initial_losses(const Batch& batch);

  /// The class with the highest output for each sample, in evaluation mode.
  std::span<const std::int64_t> predict(const Batch& batch);

  /// The loss of each sample in evaluation mode; holds until the next call.
  std::span<const float> evaluation_losses(const Batch& batch);

  /// What loading the weights to start from had to say, or nothing.
  [[nodiscard]] const std::vector<std::string>& remarks() const noexcept { return remarks_; }

  /// Tells the frozen parameters from others; 0 where none are frozen.
  [[nodiscard]] std::uint64_t frozen_fingerprint() const noexcept { return frozen_fingerprint_; }

  /// Everything that training changes; the tensors themselves.
  [[nodiscard]] NamedTensors state() const;

 private:
  template <class Use>
  void for_each_part(const Batch& batch, Use&& use) const;
  void learn_from_last_part();
  [[nodiscard]] torch::Tensor images_of(const Batch& batch) const;
  [[nodiscard]] torch::Tensor run_network(const Batch& batch);
  [[nodiscard]] torch::Tensor losses_of(const torch::Tensor& logits, const Batch& batch) const;

  torch::Device device_;
  Precision precision_;
  bool channels_last_;
  std::int64_t part_size_;  ///< a batch goes through the network in parts of this size
  ImageShape shape_;
  std::vector<std::string> remarks_;
  std::shared_ptr<Network> network_;
  std::uint64_t frozen_fingerprint_;
  Optimizer optimizer_;
  std::vector<torch::Tensor> logits_;  ///< of the last forward, part by part, detached
  torch::Tensor last_losses_;          ///< of its last part, with gradients
  torch::Tensor last_factors_;         ///< of these losses in the sum that is minimised
  torch::Tensor host_losses_;          ///< of all its parts, on the processor
  torch::Tensor host_outputs_;
  torch::Tensor predictions_;
};

}  // namespace rcap
