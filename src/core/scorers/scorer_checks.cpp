#include "core/scorers/scorer_checks.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

#include "base/formatted.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

constexpr double SumTolerance = 1e-3;

void check_row(const char* where, SampleId id, std::span<const float> row) {
  const auto bad = std::find_if_not(row.begin(), row.end(), [](float p) { return p >= 0; });
  if (bad != row.end()) {
    throw InvalidArgument(formatted("{}: probability {} of sample {} is {}; it must be >= 0", where,
                                    bad - row.begin(), id, *bad));
  }
  const double sum = std::accumulate(row.begin(), row.end(), 0.0);
  if (!(std::abs(sum - 1.0) <= SumTolerance)) {
    throw InvalidArgument(
        formatted("{}: the probabilities of sample {} add up to {}; they must add up to 1: give "
                  "softmax outputs",
                  where, id, sum));
  }
}

}  // namespace

void check_sample_ids(const char* where, std::span<const SampleId> ids, std::int64_t sample_count) {
  for (const SampleId id : ids) {
    if (id >= 0 && id < sample_count) continue;
    throw InvalidArgument(
        formatted("{}: sample {}; ids lie between 0 and {}", where, id, sample_count - 1));
  }
}

void check_value_count(const char* where, const char* values, std::size_t value_count,
                       std::size_t id_count) {
  if (value_count == id_count) return;
  throw InvalidArgument(formatted("{}: {} {} for {} samples; give one per sample", where,
                                  value_count, values, id_count));
}

void check_probabilities(const char* where, const ClassIndex& classes,
                         std::span<const SampleId> ids, std::span<const float> probabilities) {
  const auto width = static_cast<std::size_t>(classes.class_count());
  if (probabilities.size() % width != 0 || probabilities.size() / width != ids.size()) {
    throw InvalidArgument(
        formatted("{}: {} probabilities for {} samples; give {} per sample, one for each class",
                  where, probabilities.size(), ids.size(), width));
  }
  check_sample_ids(where, ids, classes.sample_count());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    check_row(where, ids[i], probabilities.subspan(i * width, width));
  }
}

std::size_t array_length(const char* scorer, std::int64_t samples, std::int64_t per_sample) {
  constexpr std::int64_t Longest = std::numeric_limits<std::ptrdiff_t>::max() / sizeof(float);
  if (per_sample > Longest / samples) {
    throw InvalidArgument(
        formatted("{}: {} samples with {} values each are more than memory can hold", scorer,
                  samples, per_sample));
  }
  return static_cast<std::size_t>(samples * per_sample);
}

}  // namespace rcap
