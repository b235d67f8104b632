#pragma once

#include <span>
#include <vector>

#include "rcap/core/class_index.hpp"
#include "rcap/core/weighted_draw.hpp"

namespace rcap {

/// 1 / chance of each drawn sample, in ascending order of ids: how many samples of its class it
/// stands for.
/// @param drawn       by `draw_weighted` from `weights`, which have not changed since
/// @param thresholds  what that draw left in its `DrawScratch`
/// @param inverses    gets as many numbers as there are drawn samples
void find_inverse_chances(const ClassIndex& classes, const SampleSet& drawn,
                          const LossWeights& weights, std::span<const double> thresholds,
                          const Workers& workers, std::vector<float>& inverses);

/// What decides over the weights of the samples of each class.
struct ClassWeighing {
  std::vector<std::int64_t> counts;  ///< how many are drawn
  std::vector<float> lifts;
  std::vector<float> exponents;
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
                   std::span<const float> inverses, const ClassWeighing& weighing,
                   const Workers& workers, std::vector<float>& weights);

}  // namespace rcap
