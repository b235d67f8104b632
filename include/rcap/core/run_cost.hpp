#pragma once

#include <cstdint>

#include "rcap/core/make_pruner.hpp"

namespace rcap {

/// What a run costs, told before it is made, from the samples that go through the network: an
/// estimate of work, the same on every machine, and none of seconds.

/// A forward pass, of the three parts of a step that cost about the same.
inline constexpr double ForwardPart = 1.0 / 3;

/// Epochs over the whole data set.
struct EpochCost {
  double trained = 0;  ///< forward and backward
  double forward = 0;  ///< forward alone

  /// How many epochs of training on everything cost as much.
  [[nodiscard]] constexpr double in_full_epochs() const noexcept {
    return trained + ForwardPart * forward;
  }
};

/// What a run of a method sees, its first pass included. The scoring run that a static method
/// needs is not in it, nor is any evaluation.
/// @param kept_part  of the samples, in an epoch that is pruned
[[nodiscard]] EpochCost planned_cost(const MethodInfo& method, const PrunerOptions& options,
                                     double kept_part, std::int64_t epochs);

/// The epochs between two evaluations where nothing else is said: ten evaluations a run.
[[nodiscard]] constexpr std::int64_t usual_evaluation_interval(std::int64_t epochs) noexcept {
  return (epochs + 9) / 10;
}

/// How often a run evaluates: every `interval` epochs, and always after the last one.
[[nodiscard]] constexpr std::int64_t evaluation_count(std::int64_t epochs,
                                                      std::int64_t interval) noexcept {
  return epochs / interval + (epochs % interval == 0 ? 0 : 1);
}

}  // namespace rcap
