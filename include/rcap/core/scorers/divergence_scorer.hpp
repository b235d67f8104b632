#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rcap/core/class_index.hpp"
#include "rcap/core/export.hpp"
#include "rcap/core/scorers/epoch_roll.hpp"

RCAP_API_BEGIN
namespace rcap {

struct DivergenceOptions {
  std::int64_t epochs = 10;  ///< how many epochs are scored (T), at least `window`
  std::int64_t window = 10;  ///< epochs in a window (J), at least 3
  double decay = 0.9;        ///< weight of the newest window (eta), 0 < decay <= 1
};

/// The score of TDDS: how unevenly a sample's prediction moves over the first epochs of
/// a full training run.
///
/// From one epoch to the next the prediction p moves by
/// D = sum over classes of |p_new * (ln(p_new + 1e-8) - ln(p_old + 1e-8))|. A window of J
/// epochs holds J - 1 such steps; G is the root of their summed squared deviations from
/// their mean. The score starts at 0 and every window in turn makes it
/// decay * G + (1 - decay) * score.
///
///     DivergenceScorer scorer(classes, {.epochs = 10, .window = 10});
///     while (!scorer.done()) {
///       ...                                  // train, batch by batch
///       scorer.add(batch_ids, batch_probabilities);
///       ...
///       scorer.end_epoch();
///     }
///     SampleSet chosen = choose_tdds(scorer.scores(), keep_count);
///
/// Keeps 4 * (class_count + window) bytes per sample, however many epochs there are. The
/// order of samples and their split into batches do not matter.
class DivergenceScorer {
 public:
  /// @throws InvalidArgument  an option out of range, fewer than two classes, or arrays
  ///                          that no machine could hold
  explicit DivergenceScorer(std::shared_ptr<const ClassIndex> classes,
                            const DivergenceOptions& options = {});

  /// Adds predictions of the current epoch.
  ///
  /// @param ids            samples of the data set, each once an epoch
  /// @param probabilities  one row of `class_count` per id, row after row; each value
  ///                       >= 0, each row adding up to 1 within 1e-3
  /// @throws InvalidArgument  names the sample; nothing is added. Also if all epochs are
  ///                          done
  ///
  /// O(ids * (class_count + window)), no allocation.
  void add(std::span<const SampleId> ids, std::span<const float> probabilities);

  /// Ends the current epoch.
  /// @throws InvalidArgument  names the first sample that was not added in it; the epoch
  ///                          then stays open. Also if all epochs are done
  void end_epoch();

  /// Whether all epochs have ended.
  [[nodiscard]] bool done() const noexcept { return roll_.epoch() == options_.epochs; }

  /// The score of each sample, >= 0.
  /// @throws InvalidArgument  before all epochs have ended
  [[nodiscard]] std::vector<float> scores() const;

 private:
  void take_row(std::size_t sample, std::span<const float> probabilities);
  [[nodiscard]] double window_spread(std::size_t sample) const;

  std::shared_ptr<const ClassIndex> classes_;
  DivergenceOptions options_;
  EpochRoll roll_;
  std::vector<float> previous_;  ///< predictions of the previous epoch, one row per sample
  std::vector<float> steps_;     ///< the last J - 1 values D of each sample, in a ring buffer
  std::vector<float> scores_;
};

}  // namespace rcap
RCAP_API_END
