#include "rcap/core/run_cost.hpp"

namespace rcap {

EpochCost planned_cost(const MethodInfo& method, const PrunerOptions& options, double kept_part,
                       std::int64_t epochs) {
  const auto all = static_cast<double>(epochs);
  // What a rule of its own leaves is not known in advance, but it is not more than everything.
  if (method.keeps_all || method.budget(options) == Budget::None) return {.trained = all};
  switch (method.first_pass(options)) {
    case FirstPass::None:
      return {.trained = kept_part * all};
    case FirstPass::Forward:
      return {.trained = kept_part * all, .forward = 1};
    case FirstPass::Training:
      return {.trained = kept_part * (all - 1) + 1};
  }
  return {.trained = all};
}

}  // namespace rcap
