#pragma once

#include "rcap/core/advise.hpp"

namespace rcap {

/// The limits of the suggestion. They are choices, not measurements; docs/advise.md gives reasons.
struct SuggestLimits {
  static constexpr std::int64_t FewSamples = 2000;  ///< below: an epoch is short as it is
  static constexpr std::int64_t Handful = 5;        ///< of each class that has so many
  static constexpr double LeastVisits = 1;          ///< of a sample in a run, on average
  static constexpr double LeastSpeedUp = 1.2;
  // Points of accuracy that the studies lost against training on everything.
  static constexpr double NoLoss = 0.25;  ///< within what other seeds would change
  static constexpr double SmallLoss = 2;
  // Imbalances from which on data count as those of the studies do.
  static constexpr double Uneven = 10;
  static constexpr double VeryUneven = 100;
  /// Times ln(classes), the loss of a guess: above, losses are not on the scale of cross entropy.
  static constexpr double LargeLosses = 5;
};

/// Which rule and rate to try, and why, from everything else in the advice.
[[nodiscard]] Suggestion suggest(const Advice& advice);

}  // namespace rcap
