#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "data/batch_reader.hpp"
#include "rcap/core/pruner.hpp"
#include "train/checkpoint.hpp"
#include "train/engine.hpp"
#include "train/group_accuracy.hpp"
#include "train/schedule.hpp"
#include "train/trainer.hpp"

namespace rcap {

/// One network in training on one split: the loop over batches, for the run itself and for
/// scoring runs alike.
class Session {
 public:
  /// Called after each batch, while the engine still holds its outputs. False stops.
  using AfterBatch = std::function<bool(const Batch&)>;

  /// @param phase  what a progress bar calls it
  Session(const TrainOptions& options, const Dataset& dataset, const Split& train,
          std::unique_ptr<Pruner> pruner, std::string_view phase, TrainListener& listener);

  /// The losses of all samples before training, for pruners that want them.
  void initial_pass();

  /// Trains the epoch at which the state stands, from its next batch on, and moves the state
  /// to the next epoch. The times of the epoch are in the state, not in the record.
  /// @return nothing if it was stopped; the state then stands in the middle of the epoch
  /// @throws InvalidArgument  a loss that is not finite: names epoch, batch and samples
  std::optional<EpochRecord> train_epoch(const AfterBatch& after_batch);

  /// Whether the current epoch has batches left.
  [[nodiscard]] bool in_mid_epoch() const noexcept { return state_.batch < batches_; }
  /// Whether nothing is left to train.
  [[nodiscard]] bool done() const;

  [[nodiscard]] GroupAccuracy evaluate(const Split& split);
  /// The predicted class of every sample of a split.
  [[nodiscard]] std::vector<ClassId> predict(const Split& split);

  /// The mean loss of every class of the pruner (group, where the budget is split over groups) on
  /// samples that are not trained on; NaN for a class without any. As in an evaluation nothing is
  /// augmented, and nothing of the network changes. What a method asks for is part of its cost: the
  /// samples count as gone forward.
  /// @throws InvalidArgument  a loss that is not finite
  [[nodiscard]] std::vector<double> class_losses(const Split& split);

  [[nodiscard]] RunState& state() noexcept { return state_; }
  [[nodiscard]] Engine& engine() noexcept { return engine_; }
  [[nodiscard]] Pruner& pruner() noexcept { return *pruner_; }

 private:
  /// Calls `use(batch)` for every batch of a split, prepared as for an evaluation.
  template <class Use>
  void for_each_batch(const Split& split, Use&& use);
  void count_forward(std::int64_t samples);
  /// Tells the pruner the errors of the classes on held-out samples, where it goes by such.
  void tell_class_errors();
  void tell_losses(std::span<const SampleId> ids, std::span<const float> losses);
  void train_batch(const Batch& batch, std::span<const float> weights, const Position& position);
  void check_losses(const Batch& batch, std::span<const float> losses,
                    const Position& position) const;
  /// Over the samples of the epoch so far.
  [[nodiscard]] double loss_sum() const;
  void report(std::string_view phase, std::int64_t samples, std::int64_t total) const;

  const TrainOptions& options_;
  const Dataset& dataset_;
  const Split& train_;
  std::unique_ptr<Pruner> pruner_;
  std::string_view phase_;
  TrainListener& listener_;
  BatchReader reader_;
  Engine engine_;
  std::optional<std::int64_t> planned_;
  Schedule schedule_;
  RunState state_;
  Selection ordered_;
  std::int64_t batches_ = 0;  ///< of the current epoch
  double learning_rate_ = 0;
};

}  // namespace rcap
