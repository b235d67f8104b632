#pragma once

#include <span>
#include <vector>

#include "rcap/core/class_index.hpp"
#include "rcap/core/inverse_chance.hpp"
#include "rcap/core/weighted_draw.hpp"

namespace rcap {

/// @param ids         drawn by `draw_weighted` from `weights`, which have not changed since
/// @param thresholds  what that draw left in its `DrawScratch`
/// @param inverses    one for each id
void find_inverse_chances(const ClassIndex& classes, std::span<const SampleId> ids,
                          const LossWeights& weights, std::span<const double> thresholds,
                          const Workers& workers, std::span<InverseChance> inverses);

/// What decides over the weights of the samples of each class.
struct ClassWeighing {
  std::span<const float> lifts;
  std::span<const float> exponents;
};

/// How much each drawn sample counts:
///
///     lift of its class * (1 / chance) ^ exponent of its class, divided by the mean over the class
///
/// (the second factor at most 10), divided by the mean over all samples. So weights average 1, and
/// a learning rate means what it does without them.
///
/// @param ids      ascending, and `inverses` beside them
/// @param weights  left empty where all are 1
void weigh_samples(const ClassIndex& classes, std::span<const SampleId> ids,
                   std::span<const InverseChance> inverses, const ClassWeighing& weighing,
                   const Workers& workers, std::vector<float>& weights);

}  // namespace rcap
