#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rcap/core/class_index.hpp"
#include "rcap/core/export.hpp"
#include "rcap/core/options.hpp"
#include "rcap/core/sample_set.hpp"

RCAP_API_BEGIN
namespace rcap {

/// The static methods: each chooses one subset from what a full training run showed
/// about the samples. The scorers that follow such a run are in `scorers/`.

struct CcsOptions {
  /// Fraction of the data, with the lowest scores, that is dropped first (beta),
  /// 0 <= hard_cutoff < 1. The count is rounded down; among equal scores the lower ids are
  /// dropped.
  double hard_cutoff = 0.0;
  std::int64_t strata = 50;  ///< equal-width bins of the score, 1 to 2^24 - 1
};

void list_options(OptionFields& fields, CcsOptions& options);

/// How many samples of each stratum CCS takes: strata are visited by ascending size
/// (ties: the lower one first) and each gets an equal part of what is left, or all it
/// has. Adds up to `keep_count` whenever the strata hold that many.
/// @throws InvalidArgument  on a negative number
[[nodiscard]] std::vector<std::int64_t> spread_over_strata(
    std::span<const std::int64_t> stratum_sizes, std::int64_t keep_count);

/// The stratum of each sample, or `strata` for one that the cut-off drops. Strata have
/// equal width from the lowest score left to just above the highest; if all are equal,
/// they form one stratum.
/// @throws InvalidArgument  on an option out of range, no scores, or one that is not finite
[[nodiscard]] std::vector<std::int32_t> strata_of(std::span<const float> scores,
                                                  const CcsOptions& options);

/// CCS, coverage-centric selection: drops the hardest samples, then covers the range of
/// scores evenly. High score = easy.
///
/// If the cut-off would leave fewer than `keep_count` samples, it is reduced until it
/// does not (`reduced_cutoff` gives the result).
///
/// @param scores  one per sample, finite (summed margins: `MarginScorer`)
/// @throws InvalidArgument  on an option or count out of range, or a score that is not
///                          finite; names it
[[nodiscard]] SampleSet choose_ccs(std::span<const float> scores, std::int64_t keep_count,
                                   const CcsOptions& options, std::uint64_t seed);

/// The cut-off that `choose_ccs` actually uses for `keep_count` samples.
[[nodiscard]] double reduced_cutoff(std::int64_t sample_count, std::int64_t keep_count,
                                    double hard_cutoff);

/// How MetriQ turns class errors into class counts.
enum class MetriqQuota {
  Density,  ///< error times class size: the form of the paper
  Size,     ///< error alone: the form of its authors' code
};

struct MetriqOptions {
  MetriqQuota quota = MetriqQuota::Density;
};

void list_options(OptionFields& fields, MetriqOptions& options);

/// How many samples of each class MetriQ keeps.
///
/// @param recalls  per class on held-out data, in [0, 1]; NaN, for a class without
///                 held-out samples, counts as recall 0. If no class has any error, they
///                 keep in proportion to their size
/// @throws InvalidArgument  on a recall or count out of range; names the class
[[nodiscard]] std::vector<std::int64_t> metriq_counts(std::span<const std::int64_t> class_sizes,
                                                      std::span<const double> recalls,
                                                      std::int64_t keep_count,
                                                      const MetriqOptions& options);

/// MetriQ (later DRoP): classes keep in proportion to their error, uniform inside.
[[nodiscard]] SampleSet choose_metriq(const ClassIndex& classes, std::span<const double> recalls,
                                      std::int64_t keep_count, const MetriqOptions& options,
                                      std::uint64_t seed);

/// How a method chooses by scores of which the high ones are worth keeping.
enum class ScoreChoice {
  Top,       ///< the highest scores of all; ties to the lower id
  Strata,    ///< as CCS does: drops the highest, then covers the range of scores evenly
  PerClass,  ///< every class in proportion to its size, its highest scores
};

struct ScoreOptions {
  ScoreChoice choose = ScoreChoice::Top;
  double hard_cutoff = 0.0;  ///< of the strata: `CcsOptions::hard_cutoff`, of the highest scores
  std::int64_t strata = 50;  ///< of the strata: `CcsOptions::strata`
};

void list_options(OptionFields& fields, ScoreOptions& options);

/// TDDS, EL2N, Forgetting and Dyn-Unc. High score = hard or uncertain (`DivergenceScorer`,
/// `El2nScorer`, `ForgettingScorer`, `UncertaintyScorer`): the opposite of what `choose_ccs` reads,
/// so the strata are those of the negated scores.
///
/// @param scores  one per sample of `classes`, finite
/// @param seed    of the draw inside a stratum; the other choices do not draw
/// @throws InvalidArgument  on an option or count out of range, or a score that is not
///                          finite; names it
///
/// O(n).
[[nodiscard]] SampleSet choose_by_score(const ClassIndex& classes, std::span<const float> scores,
                                        std::int64_t keep_count, const ScoreOptions& options,
                                        std::uint64_t seed);

/// How DUAL chooses: as other scores, or by its own draw.
enum class DualChoice {
  Top,
  Strata,
  PerClass,
  Beta,  ///< a draw in proportion to score times Beta density of the mean probability
};

struct DualOptions {
  DualChoice choose = DualChoice::Beta;
  double hard_cutoff = 0.0;  ///< as in `ScoreOptions`
  std::int64_t strata = 50;  ///< as in `ScoreOptions`
  double rate_power = 4.0;   ///< of the Beta draw: power of the pruning rate (c), 0.01 to 100
};

void list_options(OptionFields& fields, DualOptions& options);

/// The parameters of a Beta density, which is in proportion to x^(a - 1) (1 - x)^(b - 1).
struct BetaShape {
  double a;
  double b;
};

/// The density by which DUAL favours easier samples as more is pruned:
/// b = 15 (1 - mu) (1 - r^c) and a = 16 - b, with mu the mean of `mean_probabilities` over the
/// (up to) ten samples of highest score and r the fraction that is not kept.
/// @throws InvalidArgument  as `choose_dual`
[[nodiscard]] BetaShape dual_density(std::span<const float> scores,
                                     std::span<const float> mean_probabilities,
                                     std::int64_t keep_count, double rate_power);

/// DUAL: draws one sample after another without replacement, with chances in proportion to its
/// score times the density `dual_density` at its mean probability; or chooses as
/// `choose_by_score`.
///
/// Means of exactly 0 or 1, where the density may be 0 or infinite, are taken for numbers half as
/// far from that end as the nearest `float`. Samples of score 0 are drawn, all with equal chance,
/// if there are too few others.
///
/// @param scores              one per sample of `classes`, finite; for the Beta draw >= 0
///                            (`UncertaintyScorer::dual_scores`)
/// @param mean_probabilities  one per sample, in [0, 1]
///                            (`UncertaintyScorer::mean_probabilities`); only the Beta draw reads
///                            them
/// @throws InvalidArgument  on an option or count out of range, a score or a mean that is out of
///                          range; names it
///
/// O(n).
[[nodiscard]] SampleSet choose_dual(const ClassIndex& classes, std::span<const float> scores,
                                    std::span<const float> mean_probabilities,
                                    std::int64_t keep_count, const DualOptions& options,
                                    std::uint64_t seed);

/// TDDS as published: the samples of highest score (`DivergenceScorer`); ties to the lower id.
[[nodiscard]] SampleSet choose_tdds(std::span<const float> scores, std::int64_t keep_count);

/// `random`: one uniform subset for the whole run.
[[nodiscard]] SampleSet choose_random(std::int64_t sample_count, std::int64_t keep_count,
                                      std::uint64_t seed);

}  // namespace rcap
RCAP_API_END
