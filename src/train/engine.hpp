#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <torch/torch.h>

#include "data/batch_reader.hpp"
#include "models/network.hpp"
#include "train/device_queue.hpp"
#include "train/optimizer.hpp"
#include "train/options.hpp"

namespace rcap {

/// A network, its optimiser and the device they are on: everything that computes in a run.
///
/// A batch may go through the network in parts, each with its gradients added to those of the
/// parts before, so that only one part's outputs take memory at a time. Batch norm then sees one
/// part at a time.
///
/// Only `logits`, `probabilities`, `losses` and `state` wait for the device: what other functions
/// return may still be under way. So may the batch that was passed in, which must stay valid until
/// the next one has been passed.
class Engine {
 public:
  /// @param normalization  for batches that come as levels; others are normalised already
  /// @param device         where it computes; null opens the device of the options
  /// @throws InvalidArgument  an unknown network, a device or precision that is not available
  Engine(const TrainOptions& options, ImageShape shape, ClassId class_count,
         const Normalization& normalization = {}, std::shared_ptr<DeviceQueue> device = nullptr);

  /// Sets ln of each class's part of what is trained, for logit adjustment: from now on losses are
  /// those of the outputs plus `logit_adjustment` times this prior, and `predict` also takes the
  /// rest of it out. Before the first call the prior is 0 for all classes.
  void use_prior(std::span<const double> log_prior);

  /// Computes the loss of each sample of a batch, for `update` to learn from.
  ///
  /// @param weights  a factor for each sample's loss, or none; either way the sum is divided by the
  ///                 size of the batch
  /// @param seed     of what the network draws at random (dropout)
  /// @return one loss (float) per sample, before any weight
  PendingCopy forward(const Batch& batch, std::span<const float> weights, std::uint64_t seed);
  /// The outputs of the last `forward`, one row per sample, on the processor, without the prior;
  /// valid, as what the next two return, until the next `forward`.
  [[nodiscard]] std::span<const float> logits();
  /// The same as probabilities.
  [[nodiscard]] std::span<const float> probabilities();
  /// The losses of the last `forward`.
  [[nodiscard]] std::span<const float> losses();

  /// Takes one optimizer step on the mean of the last `forward`'s weighted losses.
  void update(double learning_rate);

  /// Losses of samples before training: no gradients, no dropout, batch norm with the statistics of
  /// the batch (an untrained network's own are meaningless). Call it between `begin_initial_pass`
  /// and `end_initial_pass`, which makes batch norm forget what it has seen in between.
  void begin_initial_pass();
  PendingCopy initial_losses(const Batch& batch);
  void end_initial_pass();

  /// The class (int64) with the highest output for each sample, in evaluation mode; then, for each
  /// sample again, the class with the highest output minus the rest of the prior, which is what
  /// training with `logit_adjustment` has not taken out: 1 - `logit_adjustment` times the prior.
  PendingCopy predict(const Batch& batch);

  /// The loss (float) of each sample in evaluation mode.
  PendingCopy evaluation_losses(const Batch& batch);

  /// Remarks from loading the weights to start from, if any.
  [[nodiscard]] const std::vector<std::string>& remarks() const noexcept { return remarks_; }

  /// A checksum of the frozen parameters; 0 if none are frozen.
  [[nodiscard]] std::uint64_t frozen_fingerprint() const noexcept { return frozen_fingerprint_; }

  /// Everything that training changes; the tensors themselves.
  [[nodiscard]] NamedTensors state() const;

 private:
  template <class Use>
  void for_each_part(const Batch& batch, Use&& use) const;
  void learn_from_last_part();
  void release_last_batch();
  template <class T>
  [[nodiscard]] torch::Tensor hand_over(std::span<const T> values);
  [[nodiscard]] torch::Tensor numbers_of(const Batch& batch);
  [[nodiscard]] torch::Tensor images_of(const Batch& batch);
  [[nodiscard]] torch::Tensor run_network(const Batch& batch);
  [[nodiscard]] torch::Tensor losses_of(const torch::Tensor& logits, const Batch& batch);

  std::shared_ptr<DeviceQueue> device_;
  Precision precision_;
  bool channels_last_;
  std::int64_t part_size_;  ///< a batch goes through the network in parts of this size
  ImageShape shape_;
  torch::Tensor most_;  ///< the highest level; on the device, like the next two
  torch::Tensor mean_;
  torch::Tensor deviation_;
  std::vector<std::string> remarks_;
  std::shared_ptr<Network> network_;
  std::uint64_t frozen_fingerprint_;
  Optimizer optimizer_;
  double logit_adjustment_;
  torch::Tensor trained_prior_;        ///< added to outputs for losses; undefined: nothing
  torch::Tensor rest_of_prior_;        ///< taken out of outputs for predictions; undefined: nothing
  std::vector<torch::Tensor> logits_;  ///< of the last forward, part by part, detached
  torch::Tensor last_losses_;          ///< of its last part, with gradients
  torch::Tensor last_factors_;         ///< of these losses in the sum that is minimised
  torch::Tensor losses_;               ///< of the last forward, detached
  torch::Tensor host_logits_;          ///< undefined until asked for, like the next two
  torch::Tensor host_probabilities_;
  torch::Tensor host_losses_;
  std::vector<PendingCopy> inputs_;  ///< of the last batch
  std::vector<torch::Tensor> buffers_before_pass_;
};

}  // namespace rcap
