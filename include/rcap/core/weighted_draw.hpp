#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rcap/core/class_index.hpp"
#include "rcap/core/export.hpp"
#include "rcap/core/random_stream.hpp"
#include "rcap/core/sample_set.hpp"
#include "rcap/core/token_thresholds.hpp"

RCAP_API_BEGIN
namespace rcap {

/// Draws without replacement. All of them rank samples by a key that is a pure
/// function of (stream, sample) and take the best; none depends on the number of workers. Of a data
/// set that is cut into shards, every rank gets its part of what one process would draw; ids, also
/// those of the stream (`RandomStream::from_id`), count from the shard's first.

/// The losses that `draw_weighted` turns into probabilities.
struct LossWeights {
  std::span<const float> losses;  ///< phi, one per sample that is here, finite and >= 0
  double beta = 1.0;              ///< temperature, 0.001 to 1000
};

/// What one draw of a pruner leaves for the next, for speed: memory that need not be allocated and
/// cleared again, and the threshold of each class, as a first guess. It never changes a result.
/// One draw at a time.
struct DrawScratch {
  std::vector<std::uint8_t> bins;
  std::vector<std::vector<std::uint32_t>> histograms;
  std::vector<std::int64_t> counts;  ///< per class, how many won
  /// Per class, the key of the best sample that was not drawn: minus infinity if all of a
  /// class was drawn. The probability of drawing a sample follows from it (`inclusion.hpp`).
  std::vector<double> thresholds;
  std::vector<double> guesses;  ///< per class, the expected threshold; empty after the first draw
  TokenThresholds by_length;    ///< what `thresholds` is for samples without lengths
  /// Per class, how many tokens won, with those spent before; of draws by tokens.
  std::vector<std::int64_t> tokens;
};

/// Some samples of every class, to draw from instead of all.
struct Candidates {
  const SampleSet* samples;
  std::span<const std::int64_t> tokens;  ///< of these samples, per class
  /// Tokens of each class that are taken in any case and count against its budget.
  std::span<const std::int64_t> spent;
};

/// Draws `counts[j]` samples of every class j from softmax(phi / beta) over that
/// class, one after another without replacement (successive sampling).
///
/// The draw is an exponential race: sample i finishes at E_i / exp(phi_i / beta),
/// E_i exponential, and the first `counts[j]` of a class win; the Gumbel top-k of
/// the literature is its logarithm. `race_key` is that logarithm with its sign
/// reversed; it is exact to double precision at both ends of the uniform, and equal
/// keys are told apart by the 64 random bits, which are never equal.
///
/// If the samples have lengths, `counts` are tokens: of each class the prefix of that order is
/// drawn whose tokens are nearest to its count, the shorter of two that are equally near, but at
/// least one sample unless the count is 0. So the error is below one sample.
///
/// @param counts      per class, 0 <= counts[j] <= its tokens
/// @param candidates  whom to draw from; nullptr: all
/// @return the drawn samples of all classes
/// @throws InvalidArgument  on lengths or counts out of range; names the class
///
/// O(n) time. Besides the result it needs one and a half bytes per sample while it runs, and
/// nine in the worst case (a data set of tiny classes).
[[nodiscard]] SampleSet draw_weighted(const ClassIndex& classes, const LossWeights& weights,
                                      std::span<const std::int64_t> counts,
                                      const RandomStream& stream, const Workers& workers = 1,
                                      DrawScratch* scratch = nullptr,
                                      const Candidates* candidates = nullptr);

/// Draws `counts[j]` samples (tokens, if they have lengths) of every class j, all members equally
/// likely. Counts and candidates are those of `draw_weighted`.
[[nodiscard]] SampleSet draw_per_class(const ClassIndex& classes,
                                       std::span<const std::int64_t> counts,
                                       const RandomStream& stream, const Workers& workers = 1,
                                       const Candidates* candidates = nullptr);

/// Draws `count` of `sample_count` samples, all equally likely. For one stream the
/// sets are nested: the draw of 10 is part of the draw of 20, which makes the draws
/// of 0, 1, 2, ... samples the prefixes of one random permutation.
[[nodiscard]] SampleSet draw_uniform(std::int64_t sample_count, std::int64_t count,
                                     const RandomStream& stream, const Workers& workers = 1);
[[nodiscard]] SampleSet draw_uniform(const Shard& shard, std::int64_t count,
                                     const RandomStream& stream, const Workers& workers = 1);

/// The same of samples with lengths: the prefix of that permutation whose tokens are nearest to
/// `tokens`, the shorter of two that are equally near. Without lengths it is the draw above.
///
/// @param members  whom to draw from; nullptr: all
/// @param tokens   0 to those of the members
[[nodiscard]] SampleSet draw_tokens(const ClassIndex& classes, std::int64_t tokens,
                                    const RandomStream& stream, const Workers& workers = 1,
                                    const SampleSet* members = nullptr);

/// Draws `count` of the members of a set, all equally likely; the sets are nested, too.
[[nodiscard]] SampleSet draw_from(const SampleSet& members, std::int64_t count,
                                  const RandomStream& stream, const Workers& workers = 1);
/// The same from the members that all shards have.
[[nodiscard]] SampleSet draw_from(const Shard& shard, const SampleSet& members, std::int64_t count,
                                  const RandomStream& stream, const Workers& workers = 1);

/// The number by which `draw_weighted` ranks a sample: loss / beta - ln(-ln(1 - u)),
/// u = (bits + 1/2) / 2^64. Larger wins. Uses basic IEEE operations only, so it
/// is the same on every machine. Finite for every finite loss and allowed beta.
[[nodiscard]] double race_key(float loss, double beta, std::uint64_t bits) noexcept;

/// A pass that only computes the keys, for benchmarks: reads what `draw_weighted` reads,
/// computes the key of every sample of [first, last) and returns their sum, so
/// that nothing is optimised away.
[[nodiscard]] double sum_of_keys(const ClassIndex& classes, const LossWeights& weights,
                                 const RandomStream& stream, SampleId first, SampleId last);

}  // namespace rcap
RCAP_API_END
