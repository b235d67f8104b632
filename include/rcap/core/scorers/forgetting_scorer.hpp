#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rcap/core/class_index.hpp"
#include "rcap/core/export.hpp"
#include "rcap/core/sample_set.hpp"
#include "rcap/core/scorers/epoch_roll.hpp"

RCAP_API_BEGIN
namespace rcap {

/// The score of Forgetting: how often a sample was classified right in one epoch and wrong in the
/// next. High = hard.
///
///     ForgettingScorer scorer(classes);
///     ...                                    // each epoch, batch by batch
///     scorer.add(batch_ids, batch_predictions);
///     ...
///     scorer.end_epoch();
///     ...                                    // after the last epoch
///     SampleSet chosen = choose_by_score(*classes, scorer.scores(), keep_count, {}, seed);
///
/// Keeps 4 bytes and three bits per sample, however many epochs there are. The order of samples
/// and their split into batches do not matter.
class ForgettingScorer {
 public:
  explicit ForgettingScorer(std::shared_ptr<const ClassIndex> classes);

  /// Adds predictions of the current epoch.
  ///
  /// @param ids          samples of the data set, each once an epoch
  /// @param predictions  the class with the highest output for each of them, in
  ///                     [0, class_count)
  /// @throws InvalidArgument  names the sample; nothing is added
  ///
  /// O(ids), no allocation.
  void add(std::span<const SampleId> ids, std::span<const ClassId> predictions);

  /// Ends the current epoch.
  /// @throws InvalidArgument  names the first sample that was not added in it; the epoch
  ///                          then stays open
  void end_epoch();

  /// The count of each sample. One that was never classified right, whose score is infinite in the
  /// paper, gets one more than the highest count of the others.
  /// @throws InvalidArgument  no epoch has ended, or the current one has begun
  [[nodiscard]] std::vector<float> scores() const;

 private:
  std::shared_ptr<const ClassIndex> classes_;
  EpochRoll roll_;
  SampleSet right_;    ///< when last added
  SampleSet learned_;  ///< right at least once
  std::vector<std::uint32_t> forgotten_;
};

}  // namespace rcap
RCAP_API_END
