#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "data/batch_reader.hpp"
#include "rcap/core/pruner.hpp"
#include "train/checkpoint.hpp"
#include "train/engine.hpp"
#include "train/group_accuracy.hpp"
#include "train/schedule.hpp"
#include "train/trainer.hpp"

namespace rcap {

/// What a network answers to the samples of a split, as it is and with the rest of the prior of
/// what was trained taken out (`Engine::predict`).
struct Predictions {
  std::vector<ClassId> plain;
  std::vector<ClassId> prior_adjusted;
};

/// How many of these answers are right.
struct Accuracy {
  GroupAccuracy plain;
  GroupAccuracy prior_adjusted;
};

/// One network in training on one split: the loop over batches, both for the run itself and for
/// scoring runs.
///
/// The losses of a batch come from the device when it has computed them, and the pruner then gets
/// them, batch by batch in order. Nothing waits for them before the end of the epoch or of the pass
/// before training, except `state` and `pruner`, whose results include every batch. So a loss that
/// is not finite may be discovered some batches later.
class Session {
 public:
  /// Called after each batch, while the engine still holds its outputs. False stops.
  using AfterBatch = std::function<bool(const Batch&)>;

  /// @param phase   its name in a progress bar
  /// @param device  where it computes; null opens the device of the options
  Session(const TrainOptions& options, const Dataset& dataset, const Split& train,
          std::unique_ptr<Pruner> pruner, std::string_view phase, TrainListener& listener,
          std::shared_ptr<DeviceQueue> device = nullptr);

  /// The losses of all samples before training, for pruners that need them.
  void initial_pass();

  /// Trains the epoch at which the state stands, from its next batch on, and moves the state
  /// to the next epoch. The times of the epoch are in the state, not in the record.
  /// @return empty if it was stopped; the state is then in the middle of the epoch
  /// @throws InvalidArgument  a loss that is not finite: names epoch, batch and samples
  std::optional<EpochRecord> train_epoch(const AfterBatch& after_batch);

  /// Whether the current epoch has batches left.
  [[nodiscard]] bool in_mid_epoch() const noexcept { return state_.batch < batches_; }
  /// Whether nothing is left to train.
  [[nodiscard]] bool done() const;

  [[nodiscard]] Accuracy evaluate(const Split& split);
  /// The predicted classes of every sample of a split, from one pass.
  [[nodiscard]] Predictions predict(const Split& split);

  /// The mean loss of every class of the pruner (group, if the budget is split over groups) on
  /// samples that are not trained on; NaN for a class without any. As in an evaluation, nothing is
  /// augmented and the network does not change; with logit adjustment, losses are of the kind that
  /// is trained. This is part of the method's cost: the samples count as forward only.
  /// @throws InvalidArgument  a loss that is not finite
  [[nodiscard]] std::vector<double> class_losses(const Split& split);

  /// @throws InvalidArgument  a loss that is not finite, as `train_epoch` does
  [[nodiscard]] RunState& state() {
    tell_all_losses();
    return state_;
  }
  [[nodiscard]] Engine& engine() noexcept { return engine_; }
  /// @throws InvalidArgument  a loss that is not finite, as `train_epoch` does
  [[nodiscard]] Pruner& pruner() {
    tell_all_losses();
    return *pruner_;
  }

 private:
  /// The losses of a batch that was given to the device.
  struct BatchLosses {
    std::vector<SampleId> ids;
    Position position;
    PendingCopy losses;
  };

  /// How batches are read for the device.
  [[nodiscard]] BatchReader::Options reading(std::int64_t batch_size) const;
  /// Calls `use(batch)` for every batch of these samples of a split, prepared as for an evaluation.
  /// @param phase  its name in a progress bar
  template <class Use>
  void for_each_batch(const Split& split, std::span<const SampleId> ids, std::string_view phase,
                      Use&& use);
  /// The losses of these samples of a split, in an evaluation, batch by batch.
  /// @throws InvalidArgument  a loss that is not finite
  template <class Use>
  void for_each_loss(const Split& split, std::span<const SampleId> ids, std::string_view phase,
                     Use&& use);
  void count_forward(std::int64_t samples);
  /// Gives the engine the prior of all that was selected so far.
  void tell_prior();
  /// Gives the pruner the errors of the classes on held-out samples, if it uses them.
  void tell_class_errors();
  void expect_losses(const Batch& batch, const Position& position, PendingCopy losses);
  /// Gives the pruner the losses that have arrived, up to the first batch that has not.
  void tell_arrived_losses();
  /// The same, but waits for those that have not arrived.
  void tell_all_losses();
  void tell_losses(std::span<const SampleId> ids, std::span<const float> losses);
  /// Calls `use` with the losses as the pruner is to get them.
  template <class Use>
  void scale_losses(std::span<const float> losses, Use&& use) const;
  /// Gives the pruner the losses of samples that the epoch left out, if it wants them and another
  /// epoch is to come: a forward pass as in an evaluation.
  void refresh();
  void train_batch(const Batch& batch, std::span<const float> weights, const Position& position);
  void check_losses(std::span<const SampleId> ids, std::span<const float> losses,
                    const Position& position) const;
  /// Over the samples of the epoch whose losses the pruner has been given.
  [[nodiscard]] double loss_sum() const;
  void report(std::string_view phase, std::int64_t samples, std::int64_t total) const;

  const TrainOptions& options_;
  const Dataset& dataset_;
  const Split& train_;
  std::unique_ptr<Pruner> pruner_;
  std::string_view phase_;
  TrainListener& listener_;
  std::shared_ptr<DeviceQueue> device_;
  BatchReader reader_;
  Engine engine_;
  std::deque<BatchLosses> expected_;  ///< not given to the pruner yet, in the order of the batches
  std::optional<std::int64_t> planned_;
  Schedule schedule_;
  RunState state_;
  Selection ordered_;
  std::int64_t batches_ = 0;  ///< of the current epoch
  double learning_rate_ = 0;
};

}  // namespace rcap
