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

/// The epochs that are scored, counted from 0: the ten that end with the twentieth of a run.
struct El2nOptions {
  std::int64_t first_epoch = 10;  ///< at least 0
  std::int64_t last_epoch = 19;   ///< at least `first_epoch`
};

/// The score of EL2N: the length of the error vector p - y early in training, p the predicted
/// probabilities and y the one-hot label, as a mean over some epochs. High = hard.
///
///     El2nScorer scorer(classes);
///     while (!scorer.done()) {
///       ...                                  // train, batch by batch
///       scorer.add(batch_ids, batch_probabilities);
///       ...
///       scorer.end_epoch();
///     }
///     SampleSet chosen = choose_by_score(*classes, scorer.scores(), keep_count, {}, seed);
///
/// A mean over several networks is the same: add each of them as an epoch, with `first_epoch` 0.
/// Keeps 8 bytes and a bit per sample. The order of samples and their split into batches do not
/// matter.
class El2nScorer {
 public:
  /// @throws InvalidArgument  an option out of range, or fewer than two classes
  explicit El2nScorer(std::shared_ptr<const ClassIndex> classes, const El2nOptions& options = {});

  /// Adds predictions of the current epoch; those of epochs before the first are only checked.
  ///
  /// @param ids            samples of the data set, each once an epoch
  /// @param probabilities  one row of `class_count` per id, row after row; each value
  ///                       >= 0, each row adding up to 1 within 1e-3
  /// @throws InvalidArgument  names the sample; nothing is added. Also if all epochs are done
  ///
  /// O(ids * class_count), no allocation.
  void add(std::span<const SampleId> ids, std::span<const float> probabilities);

  /// Ends the current epoch.
  /// @throws InvalidArgument  names the first sample that was not added in it; the epoch
  ///                          then stays open. Also if all epochs are done
  void end_epoch();

  /// Whether the last epoch has ended.
  [[nodiscard]] bool done() const noexcept { return roll_.epoch() > options_.last_epoch; }

  /// The score of each sample, from 0 to the square root of 2.
  /// @throws InvalidArgument  before the last epoch has ended
  [[nodiscard]] std::vector<float> scores() const;

 private:
  std::shared_ptr<const ClassIndex> classes_;
  El2nOptions options_;
  EpochRoll roll_;
  std::vector<double> sums_;
};

}  // namespace rcap
RCAP_API_END
