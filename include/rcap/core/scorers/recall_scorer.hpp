#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rcap/core/export.hpp"
#include "rcap/core/ids.hpp"

RCAP_API_BEGIN
namespace rcap {

/// The signal of MetriQ: the recall of each class on held-out data, at the epoch of best
/// overall accuracy, averaged over query models.
///
///     RecallScorer scorer(class_count);
///     for each query model {
///       for each epoch {
///         scorer.add(labels, predictions);   // the held-out data, batch by batch
///         scorer.end_epoch();
///       }
///       scorer.end_model();
///     }
///     SampleSet chosen = choose_metriq(classes, scorer.recalls(), keep_count, options, seed);
///
/// Only counts are kept: the order of samples and their split into batches do not matter.
class RecallScorer {
 public:
  /// @throws InvalidArgument  no class
  explicit RecallScorer(ClassId class_count);

  /// Counts predictions of the current epoch.
  ///
  /// @param labels       the true classes, each in [0, class_count)
  /// @param predictions  the predicted ones, as many and in the same range
  /// @throws InvalidArgument  names the position and the value; nothing is counted
  void add(std::span<const ClassId> labels, std::span<const ClassId> predictions);

  /// Ends an epoch. Its recalls are kept if its accuracy is the best of the model so
  /// far; among equals the first epoch stays.
  /// @throws InvalidArgument  nothing was added in it
  void end_epoch();

  /// Ends a query model: its best epoch goes into the mean, and the next model begins.
  /// @throws InvalidArgument  it had no epoch, or one that has not ended
  void end_model();

  /// The recall of each class: the mean over the models that have ended and, if it has an
  /// epoch, the current one. A class counts in the models that had samples of it; NaN for a
  /// class without samples in any.
  /// @throws InvalidArgument  no epoch has ended yet
  [[nodiscard]] std::vector<double> recalls() const;

 private:
  /// What one epoch counted.
  struct Counts {
    explicit Counts(std::size_t class_count) : samples(class_count), correct(class_count) {}
    std::vector<std::int64_t> samples;
    std::vector<std::int64_t> correct;
    std::int64_t all_samples = 0;
    std::int64_t all_correct = 0;
  };
  /// Sums over models, per class.
  struct Sums {
    std::vector<double> recall;
    std::vector<std::int64_t> models;  ///< that had samples of the class
  };

  static void add_recalls(const Counts& epoch, Sums& sums);

  Counts current_;
  std::optional<Counts> best_;  ///< epoch of the current model
  Sums ended_;
  std::int64_t ended_models_ = 0;
};

}  // namespace rcap
RCAP_API_END
