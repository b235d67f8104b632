#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rcap/core/class_index.hpp"
#include "rcap/core/inverse_chance.hpp"
#include "rcap/core/weighted_draw.hpp"

namespace rcap {

/// A draw whose losses have not changed since.
struct FreshDraw {
  LossWeights weights;                 ///< what it was made with
  std::span<const double> thresholds;  ///< what it left in its `DrawScratch`
  /// The same of draws by tokens.
  const TokenThresholds* by_length = nullptr;
  const SampleSet* candidates = nullptr;  ///< others came in any case; nullptr: nobody did
};

/// What decides over the weights of the samples of each class.
struct ClassWeighing {
  std::span<const std::int64_t> counts;  ///< how many tokens were drawn
  std::span<const float> lifts;
  std::span<const float> exponents;
};

/// Whether samples of one class count the same.
[[nodiscard]] bool alike_in_classes(const ClassWeighing& weighing);

/// The sum of the weights of each class, if samples of one class count the same.
[[nodiscard]] std::vector<double> sum_alike_weights(const ClassWeighing& weighing);

/// How much each drawn sample counts:
///
///     lift of its class * (1 / chance) ^ exponent of its class, divided by the mean over the class
///
/// (the second factor at most 10), divided by the mean over all samples; means over tokens. So
/// weights average 1, and a learning rate means what it does without them.
///
/// @param ids       ascending
/// @param draw      what these ids come from, to find `inverses`; nullptr where they are known
/// @param inverses  one over the chance of each id
/// @param weights   left empty where all are 1
void weigh_samples(const ClassIndex& classes, std::span<const SampleId> ids, const FreshDraw* draw,
                   std::span<InverseChance> inverses, const ClassWeighing& weighing,
                   const Workers& workers, std::vector<float>& weights);

}  // namespace rcap
