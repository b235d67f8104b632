#pragma once

#include <cstdint>

#include "rcap/core/export.hpp"
#include "rcap/core/make_pruner.hpp"

RCAP_API_BEGIN
namespace rcap {

/// What a run will cost, from the samples that go through the network: an estimate of work, the
/// same on every machine, not of time.

/// A forward pass is one of three parts of a step that cost about the same.
inline constexpr double ForwardPart = 1.0 / 3;

/// Epochs over the whole data set.
struct EpochCost {
  double trained = 0;  ///< forward and backward
  double forward = 0;  ///< forward only

  /// How many epochs of training on everything cost the same.
  [[nodiscard]] constexpr double in_full_epochs() const noexcept {
    return trained + ForwardPart * forward;
  }
};

/// What a run of a method costs, including its first pass, but not evaluations or the scoring run
/// that a static method needs.
/// @param kept_part  the fraction of the samples in a pruned epoch
[[nodiscard]] EpochCost planned_cost(const MethodInfo& method, const PrunerOptions& options,
                                     double kept_part, std::int64_t epochs);

/// How often a run evaluates: every `interval` epochs, and always after the last one.
[[nodiscard]] constexpr std::int64_t evaluation_count(std::int64_t epochs,
                                                      std::int64_t interval) noexcept {
  return epochs / interval + (epochs % interval == 0 ? 0 : 1);
}

/// The default number of epochs between two evaluations: ten evaluations per run.
[[nodiscard]] constexpr std::int64_t usual_evaluation_interval(std::int64_t epochs) noexcept {
  return evaluation_count(epochs, 10);
}

}  // namespace rcap
RCAP_API_END
