#include "rcap/core/static_selection.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>

#include "base/formatted.hpp"
#include "rcap/core/class_budget.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/random_stream.hpp"
#include "rcap/core/top_scores.hpp"
#include "rcap/core/weighted_draw.hpp"

namespace rcap {
namespace {

RandomStream selection_stream(std::uint64_t seed) {
  return RandomStream(seed, Purpose::Selection, 0);
}

void check_keep_count(std::string_view where, std::int64_t keep_count, std::int64_t sample_count) {
  if (keep_count < 0 || keep_count > sample_count) {
    throw InvalidArgument(
        formatted("{}: keep_count is {}; it must lie between 0 and {}, the number of samples",
                  where, keep_count, sample_count));
  }
}

void check_scores(std::string_view where, std::span<const float> scores) {
  if (scores.empty()) {
    throw InvalidArgument(formatted("{}: no scores; give one per sample", where));
  }
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (!std::isfinite(scores[i])) {
      throw InvalidArgument(formatted("{}: the score of sample {} is {}; scores must be finite",
                                      where, i, scores[i]));
    }
  }
}

/// hard_cutoff * sample_count rounded down; a product that falls short of a whole number
/// by rounding alone counts as that number. At least one sample stays.
std::int64_t cut_count(std::int64_t sample_count, double hard_cutoff) {
  const double product = hard_cutoff * static_cast<double>(sample_count) + 1e-6;
  return std::min(static_cast<std::int64_t>(product), sample_count - 1);
}

/// The `count` samples of lowest score, ties to the lower id.
SampleSet lowest_scores(std::span<const float> scores, std::int64_t count) {
  if (count == 0) return SampleSet(static_cast<std::int64_t>(scores.size()));
  std::vector<float> negated(scores.size());
  std::transform(scores.begin(), scores.end(), negated.begin(), std::negate<>());
  return top_scores(negated, count);
}

}  // namespace

void list_options(OptionFields& fields, CcsOptions& options) {
  fields.number("hard_cutoff", options.hard_cutoff, "H",
                "fraction with the lowest scores that is dropped first", Range::proper_part());
  fields.count("strata", options.strata, "N", "number of score bins",
               Range::between(1, ClassIndex::MaxClasses - 1));
}

void list_options(OptionFields& fields, MetriqOptions& options) {
  fields.choice("quota", options.quota, {"density", "size"},
                "class error times class size, or class error alone");
}

std::vector<std::int64_t> spread_over_strata(std::span<const std::int64_t> stratum_sizes,
                                             std::int64_t keep_count) {
  if (keep_count < 0) {
    throw InvalidArgument(
        formatted("spread_over_strata: keep_count is {}; it must be >= 0", keep_count));
  }
  for (std::size_t i = 0; i < stratum_sizes.size(); ++i) {
    if (stratum_sizes[i] < 0) {
      throw InvalidArgument(formatted(
          "spread_over_strata: stratum_sizes[{}] is {}; sizes must be >= 0", i, stratum_sizes[i]));
    }
  }
  std::vector<std::size_t> by_size(stratum_sizes.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(), [&](std::size_t a, std::size_t b) {
    return stratum_sizes[a] < stratum_sizes[b];
  });

  std::vector<std::int64_t> budgets(stratum_sizes.size());
  auto strata_left = static_cast<std::int64_t>(by_size.size());
  for (const std::size_t stratum : by_size) {
    budgets[stratum] = std::min(stratum_sizes[stratum], keep_count / strata_left);
    keep_count -= budgets[stratum];
    --strata_left;
  }
  return budgets;
}

std::vector<std::int32_t> strata_of(std::span<const float> scores, const CcsOptions& options) {
  check_scores("strata_of", scores);
  check_options(options);
  const auto sample_count = static_cast<std::int64_t>(scores.size());
  const SampleSet dropped = lowest_scores(scores, cut_count(sample_count, options.hard_cutoff));

  double lowest = HUGE_VAL;
  double highest = -HUGE_VAL;
  for (SampleId id = 0; id < sample_count; ++id) {
    if (dropped.contains(id)) continue;
    const double score = scores[static_cast<std::size_t>(id)];
    lowest = std::min(lowest, score);
    highest = std::max(highest, score);
  }
  // A factor would put the end below the highest score where that is negative.
  const double end = highest > 0.0 ? 1.0001 * highest : highest + 1e-4 * (highest - lowest);
  const auto count = static_cast<double>(options.strata);
  const double width = (end - lowest) / count;
  std::vector<std::int32_t> strata(scores.size());
  for (SampleId id = 0; id < sample_count; ++id) {
    const auto i = static_cast<std::size_t>(id);
    const double stratum = width > 0.0 ? std::min((scores[i] - lowest) / width, count - 1) : 0;
    strata[i] = static_cast<std::int32_t>(dropped.contains(id) ? count : stratum);
  }
  return strata;
}

double reduced_cutoff(std::int64_t sample_count, std::int64_t keep_count, double hard_cutoff) {
  if (sample_count < 1) {
    throw InvalidArgument(
        formatted("reduced_cutoff: sample_count is {}; it must be >= 1", sample_count));
  }
  check_keep_count("reduced_cutoff", keep_count, sample_count);
  check_options(CcsOptions{.hard_cutoff = hard_cutoff});
  const std::int64_t surplus = sample_count - keep_count;
  if (cut_count(sample_count, hard_cutoff) <= surplus) return hard_cutoff;
  return static_cast<double>(surplus) / static_cast<double>(sample_count);
}

SampleSet choose_ccs(std::span<const float> scores, std::int64_t keep_count,
                     const CcsOptions& options, std::uint64_t seed) {
  check_scores("choose_ccs", scores);
  const auto sample_count = static_cast<std::int64_t>(scores.size());
  check_keep_count("choose_ccs", keep_count, sample_count);
  CcsOptions used = options;
  used.hard_cutoff = reduced_cutoff(sample_count, keep_count, options.hard_cutoff);

  const std::vector<std::int32_t> labels = strata_of(scores, used);
  const ClassIndex strata(std::span<const std::int32_t>(labels),
                          static_cast<ClassId>(used.strata + 1));
  const auto sizes = strata.class_sizes().first(static_cast<std::size_t>(used.strata));
  std::vector<std::int64_t> counts = spread_over_strata(sizes, keep_count);
  counts.push_back(0);  // the samples that the cut-off drops
  return draw_per_class(strata, counts, selection_stream(seed));
}

std::vector<std::int64_t> metriq_counts(std::span<const std::int64_t> class_sizes,
                                        std::span<const double> recalls, std::int64_t keep_count,
                                        const MetriqOptions& options) {
  if (recalls.size() != class_sizes.size()) {
    throw InvalidArgument(formatted("metriq_counts: {} recalls for {} classes; give one per class",
                                    recalls.size(), class_sizes.size()));
  }
  std::vector<double> weights(recalls.size());
  for (std::size_t j = 0; j < recalls.size(); ++j) {
    if (recalls[j] < 0.0 || recalls[j] > 1.0) {
      throw InvalidArgument(
          formatted("metriq_counts: recalls[{}] is {}; a recall lies in [0, 1], "
                    "nan if it is unknown",
                    j, recalls[j]));
    }
    weights[j] = std::isnan(recalls[j]) ? 1.0 : 1.0 - recalls[j];
    if (options.quota == MetriqQuota::Density) weights[j] *= static_cast<double>(class_sizes[j]);
  }
  // Without any error all weights are 0, and then split_budget shares by size.
  return split_budget(class_sizes, weights, keep_count);
}

SampleSet choose_metriq(const ClassIndex& classes, std::span<const double> recalls,
                        std::int64_t keep_count, const MetriqOptions& options, std::uint64_t seed) {
  const std::vector<std::int64_t> counts =
      metriq_counts(classes.class_sizes(), recalls, keep_count, options);
  return draw_per_class(classes, counts, selection_stream(seed));
}

SampleSet choose_tdds(std::span<const float> scores, std::int64_t keep_count) {
  check_scores("choose_tdds", scores);
  check_keep_count("choose_tdds", keep_count, static_cast<std::int64_t>(scores.size()));
  return top_scores(scores, keep_count);
}

SampleSet choose_random(std::int64_t sample_count, std::int64_t keep_count, std::uint64_t seed) {
  check_keep_count("choose_random", keep_count, sample_count);
  return draw_uniform(sample_count, keep_count, selection_stream(seed));
}

}  // namespace rcap
