#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rcap/core/export.hpp"
#include "rcap/core/ids.hpp"
#include "rcap/core/scorers/epoch_roll.hpp"

RCAP_API_BEGIN
namespace rcap {

struct UncertaintyOptions {
  std::int64_t window = 10;       ///< epochs in a window (J), at least 2
  std::int64_t dual_epochs = 30;  ///< the first epochs, which DUAL scores (T), at least `window`
};

/// The scores of Dyn-Unc and DUAL: how much the probability p of a sample's true class varies in
/// windows of J epochs, one window ending with each epoch from the J-th on. High = uncertain.
///
///  - Dyn-Unc: the standard deviation of p in a window (divided by J - 1), as a mean over all
///    windows of the run.
///  - DUAL: that deviation times 1 - (the mean of p in the window), as a mean over the windows of
///    the first T epochs. Its draw also uses the mean of p over these epochs.
///
/// p is exp(-loss), so plain cross entropy is all that is needed. With label smoothing, or any
/// other loss that is not -ln p, it is not: give -ln p itself.
///
///     UncertaintyScorer scorer(sample_count);
///     ...                                    // each epoch, batch by batch
///     scorer.add(batch_ids, batch_losses);
///     ...
///     scorer.end_epoch();                    // for DUAL, until scorer.dual_done()
///
/// Keeps 4 * window + 24 bytes and a bit per sample, however many epochs there are. The order of
/// samples and their split into batches do not matter.
class UncertaintyScorer {
 public:
  /// @throws InvalidArgument  an option out of range, no sample, or arrays that no machine could
  ///                          hold
  explicit UncertaintyScorer(std::int64_t sample_count, const UncertaintyOptions& options = {});

  /// Adds losses of the current epoch.
  ///
  /// @param ids     samples of the data set, each once an epoch
  /// @param losses  the cross entropy of each of them, without any weight; finite and >= 0, and
  ///                down to -1e-6 taken for 0
  /// @throws InvalidArgument  names the sample; nothing is added
  ///
  /// O(ids * window), no allocation.
  void add(std::span<const SampleId> ids, std::span<const float> losses);

  /// Ends the current epoch.
  /// @throws InvalidArgument  names the first sample that was not added in it; the epoch
  ///                          then stays open
  void end_epoch();

  /// Whether the epochs that DUAL scores have ended. Later ones change Dyn-Unc's scores alone.
  [[nodiscard]] bool dual_done() const noexcept { return roll_.epoch() >= options_.dual_epochs; }

  /// The score of Dyn-Unc of each sample, from the epochs so far.
  /// @throws InvalidArgument  before a window has ended, or while an epoch is not complete
  [[nodiscard]] std::vector<float> uncertainties() const;

  /// The score of DUAL of each sample.
  /// @throws InvalidArgument  before `dual_done()`
  [[nodiscard]] std::vector<float> dual_scores() const;

  /// The mean of p over the epochs that DUAL scores, in [0, 1].
  /// @throws InvalidArgument  before `dual_done()`
  [[nodiscard]] std::vector<float> mean_probabilities() const;

 private:
  void take_probability(std::size_t sample, float probability);
  void require_dual_done(const char* what) const;

  UncertaintyOptions options_;
  EpochRoll roll_;
  std::vector<float> ring_;  ///< the last J probabilities of each sample
  std::vector<double> deviation_sums_;
  std::vector<double> dual_sums_;
  std::vector<double> probability_sums_;  ///< of the epochs that DUAL scores
};

}  // namespace rcap
RCAP_API_END
