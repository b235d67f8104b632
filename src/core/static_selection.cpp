#include "rcap/core/static_selection.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/formatted.hpp"
#include "core/keys.hpp"
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

std::vector<float> negated(std::span<const float> scores) {
  std::vector<float> result(scores.size());
  std::transform(scores.begin(), scores.end(), result.begin(), std::negate<>());
  return result;
}

/// The `count` samples of lowest score, ties to the lower id.
SampleSet lowest_scores(std::span<const float> scores, std::int64_t count) {
  if (count == 0) return SampleSet(static_cast<std::int64_t>(scores.size()));
  return top_scores(negated(scores), count);
}

void check_score_count(std::string_view where, const ClassIndex& classes,
                       std::span<const float> scores) {
  if (std::cmp_equal(scores.size(), classes.sample_count())) return;
  throw InvalidArgument(formatted("{}: {} scores for {} samples; give one per sample", where,
                                  scores.size(), classes.sample_count()));
}

/// Orders samples as `top_scores` does: by falling score, ties to the lower id.
struct HigherScore {
  std::span<const float> scores;
  bool operator()(SampleId a, SampleId b) const {
    const float score_of_a = scores[static_cast<std::size_t>(a)];
    const float score_of_b = scores[static_cast<std::size_t>(b)];
    return score_of_a != score_of_b ? score_of_a > score_of_b : a < b;
  }
};

/// The samples of each class, in ascending order, class after class.
std::vector<SampleId> ids_by_class(const ClassIndex& classes) {
  std::vector<std::size_t> next(classes.class_sizes().size());
  std::exclusive_scan(classes.class_sizes().begin(), classes.class_sizes().end(), next.begin(),
                      std::size_t{0}, std::plus<>());
  std::vector<SampleId> ids(static_cast<std::size_t>(classes.sample_count()));
  for (SampleId id = 0; id < classes.sample_count(); ++id) {
    ids[next[static_cast<std::size_t>(classes.class_of(id))]++] = id;
  }
  return ids;
}

/// Moves the `count` members that come first in the order of `is_before` to the front.
template <class Member, class IsBefore>
std::span<Member> bring_first(std::span<Member> members, std::int64_t count, IsBefore is_before) {
  std::nth_element(members.begin(), members.begin() + count, members.end(), is_before);
  return members.first(static_cast<std::size_t>(count));
}

/// Every class in proportion to its size; inside a class the highest scores, ties to the lower id.
SampleSet top_per_class(const ClassIndex& classes, std::span<const float> scores,
                        std::int64_t keep_count) {
  const std::span<const std::int64_t> sizes = classes.class_sizes();
  const std::vector<double> weights(sizes.begin(), sizes.end());
  const std::vector<std::int64_t> counts = split_budget(sizes, weights, keep_count);
  std::vector<SampleId> ids = ids_by_class(classes);
  std::span<SampleId> rest(ids);
  SampleSet chosen(classes.sample_count());
  for (std::size_t j = 0; j < counts.size(); ++j) {
    const auto members = rest.first(static_cast<std::size_t>(sizes[j]));
    for (const SampleId id : bring_first(members, counts[j], HigherScore{scores}))
      chosen.insert(id);
    rest = rest.subspan(members.size());
  }
  return chosen;
}

void check_mean_probabilities(std::string_view where, std::span<const float> means,
                              std::size_t sample_count) {
  if (means.size() != sample_count) {
    throw InvalidArgument(
        formatted("{}: {} mean probabilities for {} samples; give one per sample, from the epochs "
                  "that the scores are made from",
                  where, means.size(), sample_count));
  }
  for (std::size_t i = 0; i < means.size(); ++i) {
    if (means[i] >= 0.0F && means[i] <= 1.0F) continue;
    throw InvalidArgument(
        formatted("{}: the mean probability of sample {} is {}; it must lie between 0 and 1", where,
                  i, means[i]));
  }
}

void check_not_negative(std::string_view where, std::span<const float> scores) {
  const auto bad = std::find_if(scores.begin(), scores.end(), [](float s) { return s < 0.0F; });
  if (bad == scores.end()) return;
  throw InvalidArgument(
      formatted("{}: the score of sample {} is {}; scores that samples are drawn by must be >= 0",
                where, bad - scores.begin(), *bad));
}

/// ln of score * mean^(a - 1) * (1 - mean)^(b - 1); minus infinity if the score is 0. A constant
/// factor does not change chances, so the density is not normalised.
double log_weight(float score, float mean, const BetaShape& shape) {
  // Halves of the smallest float above 0, and of the gap between 1 and the largest below.
  constexpr double LeastMean = 0x1p-150;
  constexpr double LeastRest = 0x1p-25;
  if (score == 0.0F) return -HUGE_VAL;
  return exact_log(score) + (shape.a - 1.0) * exact_log(std::max<double>(mean, LeastMean)) +
         (shape.b - 1.0) * exact_log(std::max(1.0 - mean, LeastRest));
}

/// A sample in the exponential race of `draw_weighted`, here with chances that a `float` loss
/// could not hold. The higher key wins.
struct Racer {
  double key;
  std::uint64_t bits;  ///< the lower decide between equal keys, also those of minus infinity
  SampleId id;
};

SampleSet draw_beta(std::span<const float> scores, std::span<const float> means,
                    const BetaShape& shape, std::int64_t count, const RandomStream& stream) {
  std::vector<Racer> racers(scores.size());
  for (std::size_t i = 0; i < racers.size(); ++i) {
    const auto id = static_cast<SampleId>(i);
    const std::uint64_t bits = stream.bits(id);
    racers[i] = {log_weight(scores[i], means[i], shape) + race_key(0.0F, 1.0, bits), bits, id};
  }
  const auto is_before = [](const Racer& a, const Racer& b) {
    return a.key != b.key ? a.key > b.key : a.bits < b.bits;
  };
  SampleSet drawn(static_cast<std::int64_t>(scores.size()));
  for (const Racer& winner : bring_first(std::span(racers), count, is_before)) {
    drawn.insert(winner.id);
  }
  return drawn;
}

/// The options of the choice by strata, for methods of which it is one choice.
template <class Options>
void list_strata_options(OptionFields& fields, Options& options) {
  const auto by_strata = [&options] { return options.choose == decltype(options.choose)::Strata; };
  constexpr const char* Rule = "is for choose strata";
  fields
      .number("hard_cutoff", options.hard_cutoff, "H",
              "strata: fraction with the highest scores that is dropped first",
              Range::proper_part())
      .applies_if(by_strata, Rule);
  fields
      .count("strata", options.strata, "N", "strata: number of score bins",
             Range::between(1, ClassIndex::MaxClasses - 1))
      .applies_if(by_strata, Rule);
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

void list_options(OptionFields& fields, ScoreOptions& options) {
  fields.choice("choose", options.choose, {"top", "strata", "per-class"},
                "the highest scores, an even cover of their range, or the highest of every class");
  list_strata_options(fields, options);
}

void list_options(OptionFields& fields, DualOptions& options) {
  fields.choice("choose", options.choose, {"top", "strata", "per-class", "beta"},
                "the highest scores, an even cover of their range, the highest of every class, or "
                "a draw that favours easier samples as more is pruned");
  list_strata_options(fields, options);
  fields
      .number("rate_power", options.rate_power, "C",
              "beta: power of the pruning rate in the density of the draw",
              Range::between(0.01, 100))
      .applies_if([&options] { return options.choose == DualChoice::Beta; }, "is for choose beta");
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

SampleSet choose_by_score(const ClassIndex& classes, std::span<const float> scores,
                          std::int64_t keep_count, const ScoreOptions& options,
                          std::uint64_t seed) {
  constexpr std::string_view Where = "choose_by_score";
  check_options(options);
  check_score_count(Where, classes, scores);
  check_scores(Where, scores);
  check_keep_count(Where, keep_count, classes.sample_count());
  switch (options.choose) {
    case ScoreChoice::Top:
      break;
    case ScoreChoice::Strata:
      return choose_ccs(negated(scores), keep_count, {options.hard_cutoff, options.strata}, seed);
    case ScoreChoice::PerClass:
      return top_per_class(classes, scores, keep_count);
  }
  return top_scores(scores, keep_count);
}

BetaShape dual_density(std::span<const float> scores, std::span<const float> mean_probabilities,
                       std::int64_t keep_count, double rate_power) {
  constexpr std::string_view Where = "dual_density";
  constexpr std::int64_t Anchors = 10;
  check_options(DualOptions{.rate_power = rate_power});
  check_scores(Where, scores);
  check_mean_probabilities(Where, mean_probabilities, scores.size());
  const auto sample_count = static_cast<std::int64_t>(scores.size());
  check_keep_count(Where, keep_count, sample_count);

  std::vector<SampleId> anchors(static_cast<std::size_t>(std::min(Anchors, sample_count)));
  std::vector<SampleId> ids(scores.size());
  std::iota(ids.begin(), ids.end(), SampleId{0});
  std::partial_sort_copy(ids.begin(), ids.end(), anchors.begin(), anchors.end(),
                         HigherScore{scores});
  double sum = 0;
  for (const SampleId id : anchors) sum += mean_probabilities[static_cast<std::size_t>(id)];
  const double mu = sum / static_cast<double>(anchors.size());
  const double rate =
      static_cast<double>(sample_count - keep_count) / static_cast<double>(sample_count);
  const double power = rate > 0.0 ? exact_exp(rate_power * exact_log(rate)) : 0.0;
  const double b = 15.0 * (1.0 - mu) * (1.0 - power);
  return {16.0 - b, b};
}

SampleSet choose_dual(const ClassIndex& classes, std::span<const float> scores,
                      std::span<const float> mean_probabilities, std::int64_t keep_count,
                      const DualOptions& options, std::uint64_t seed) {
  if (options.choose != DualChoice::Beta) {
    return choose_by_score(classes, scores, keep_count,
                           {.choose = static_cast<ScoreChoice>(options.choose),
                            .hard_cutoff = options.hard_cutoff,
                            .strata = options.strata},
                           seed);
  }
  constexpr std::string_view Where = "choose_dual";
  check_options(options);
  check_score_count(Where, classes, scores);
  check_scores(Where, scores);
  check_not_negative(Where, scores);
  check_mean_probabilities(Where, mean_probabilities, scores.size());
  check_keep_count(Where, keep_count, classes.sample_count());
  const BetaShape shape = dual_density(scores, mean_probabilities, keep_count, options.rate_power);
  return draw_beta(scores, mean_probabilities, shape, keep_count, selection_stream(seed));
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
