#pragma once

#include <cstdint>
#include <optional>

#include "train/options.hpp"

namespace rcap {

/// Where a run stands when a batch begins.
struct Position {
  std::int64_t epoch = 0;
  std::int64_t batch = 0;  ///< in the epoch
  std::int64_t batches_in_epoch = 1;
  std::int64_t step = 0;  ///< batches of the run so far
};

/// The learning rate of each batch.
///
/// A cosine by step runs over the batches that the run will actually make: pruning shortens the run
/// and with it the schedule. A period taken from the full data would leave the rate high at the
/// end.
class Schedule {
 public:
  /// @param planned_steps  `Pruner::planned_batches`; if empty, progress is counted in epochs
  Schedule(ScheduleKind kind, double learning_rate, std::int64_t epochs,
           std::optional<std::int64_t> planned_steps);

  /// lr * (1 + cos(pi * progress)) / 2.
  [[nodiscard]] double learning_rate(const Position& position) const noexcept;

 private:
  ScheduleKind kind_;
  double learning_rate_;
  std::int64_t epochs_;
  std::optional<std::int64_t> planned_steps_;
};

}  // namespace rcap
