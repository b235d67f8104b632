#include "rcap/core/run_cost.hpp"

namespace rcap {

EpochCost planned_cost(const MethodInfo& method, const PrunerOptions& options, double kept_part,
                       std::int64_t epochs) {
  const auto all = static_cast<double>(epochs);
  if (method.keeps_all) return {.trained = all};
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
