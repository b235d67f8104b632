#include "data/subsample.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "rcap/core/class_budget.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/weighted_draw.hpp"

namespace rcap {
namespace {

/// 5000 * 100^-1 must be 50 even if the library's power is slightly below 0.01.
constexpr double RoundingSlack = 1e-12;

/// The size of class `j` as a fraction of the first class's.
double profile(std::size_t j, std::size_t class_count, double factor) {
  if (class_count == 1) return 1;
  return std::pow(factor, -static_cast<double>(j) / static_cast<double>(class_count - 1));
}

HeldOutSplit hold_out_counts(const ClassIndex& classes, std::span<const std::int64_t> counts,
                             const RandomStream& stream) {
  const SampleSet held_out = draw_per_class(classes, counts, stream);
  SampleSet kept = SampleSet::all(classes.sample_count());
  kept.subtract(held_out);
  return {kept.ids(), held_out.ids()};
}

}  // namespace

RandomStream subsample_stream(std::uint64_t seed, SubsampleUse use) noexcept {
  return {seed, Purpose::Subsample, static_cast<std::int64_t>(use)};
}

std::vector<std::int64_t> long_tailed_sizes(std::span<const std::int64_t> class_sizes,
                                            double factor) {
  if (factor < 1 || !std::isfinite(factor)) {
    throw InvalidArgument(
        fmt::format("long_tailed: the imbalance factor is {}; it is the size of the largest class "
                    "over that of the smallest, finite and at least 1",
                    factor));
  }
  double largest = std::numeric_limits<double>::infinity();
  for (std::size_t j = 0; j < class_sizes.size(); ++j) {
    if (class_sizes[j] < 1) {
      throw InvalidArgument(
          fmt::format("long_tailed: class {} has no sample; every class needs one", j));
    }
    largest = std::min(
        largest, static_cast<double>(class_sizes[j]) / profile(j, class_sizes.size(), factor));
  }
  std::vector<std::int64_t> sizes;
  for (std::size_t j = 0; j < class_sizes.size(); ++j) {
    const double size = largest * profile(j, class_sizes.size(), factor) * (1 + RoundingSlack);
    sizes.push_back(std::clamp(static_cast<std::int64_t>(size), std::int64_t{1}, class_sizes[j]));
  }
  return sizes;
}

std::vector<SampleId> long_tailed(std::span<const ClassId> labels, ClassId class_count,
                                  double factor, std::uint64_t seed) {
  const ClassIndex classes(labels, class_count);
  const std::vector<std::int64_t> sizes = long_tailed_sizes(classes.class_sizes(), factor);
  return draw_per_class(classes, sizes, subsample_stream(seed, SubsampleUse::LongTail)).ids();
}

std::vector<SampleId> proportional_part(std::span<const ClassId> labels, ClassId class_count,
                                        std::int64_t count, std::uint64_t seed) {
  if (count < class_count || std::cmp_greater(count, labels.size())) {
    throw InvalidArgument(
        fmt::format("{} training samples to keep; the number must lie between that of the classes, "
                    "{}, and that of all training samples, {}",
                    count, class_count, labels.size()));
  }
  const ClassIndex classes(labels, class_count);
  const std::span<const std::int64_t> sizes = classes.class_sizes();
  const std::vector<double> weights(sizes.begin(), sizes.end());
  return draw_per_class(classes, split_budget(sizes, weights, count),
                        subsample_stream(seed, SubsampleUse::TrainSamples))
      .ids();
}

HeldOutSplit hold_out(const ClassIndex& classes, std::int64_t one_in, std::uint64_t seed,
                      SubsampleUse use) {
  std::vector<std::int64_t> counts;
  for (const std::int64_t size : classes.class_sizes()) {
    counts.push_back(size < 2 ? 0 : std::max<std::int64_t>(1, size / one_in));
  }
  return hold_out_counts(classes, counts, subsample_stream(seed, use));
}

HeldOutSplit hold_out_part(const ClassIndex& classes, double part, std::uint64_t seed,
                           SubsampleUse use) {
  if (!(part > 0 && part < 1)) {
    throw InvalidArgument(
        fmt::format("hold_out_part: the fraction is {}; it must lie above 0 and below 1", part));
  }
  std::vector<std::int64_t> counts;
  for (const std::int64_t size : classes.class_sizes()) {
    const std::int64_t nearest = std::llround(part * static_cast<double>(size));
    counts.push_back(size < 2 ? 0 : std::clamp<std::int64_t>(nearest, 1, size - 1));
  }
  return hold_out_counts(classes, counts, subsample_stream(seed, use));
}

}  // namespace rcap
