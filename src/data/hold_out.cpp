#include "data/hold_out.hpp"

#include <algorithm>

#include "rcap/core/weighted_draw.hpp"

namespace rcap {

HeldOutSplit hold_out(const ClassIndex& classes, std::int64_t one_in, std::uint64_t seed,
                      SubsampleUse use) {
  std::vector<std::int64_t> counts;
  for (const std::int64_t size : classes.class_sizes()) {
    counts.push_back(size < 2 ? 0 : std::max<std::int64_t>(1, size / one_in));
  }
  const SampleSet held_out = draw_per_class(classes, counts, subsample_stream(seed, use));
  SampleSet kept = SampleSet::all(classes.sample_count());
  kept.subtract(held_out);
  return {kept.ids(), held_out.ids()};
}

}  // namespace rcap
