#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rcap/core/class_index.hpp"
#include "rcap/core/export.hpp"

RCAP_API_BEGIN
namespace rcap {

/// What a margin is taken between.
enum class MarginKind {
  Probability,  ///< softmax probabilities: the form of the CCS authors' code
  Logit,        ///< raw network outputs: the area under the margin (AUM) of the literature
};

/// The score of CCS: the margin of a sample's true class over the best other class,
/// summed over the epochs of a full training run. High = easy.
///
///     MarginScorer scorer(classes);
///     ...                                    // each epoch, batch by batch
///     scorer.add(batch_ids, batch_logits);
///     ...
///     SampleSet chosen = choose_ccs(scorer.scores(), keep_count, options, seed);
///
/// Only sums are kept, 12 bytes per sample. A sum depends on the outputs of its own sample
/// alone, so the order of samples and their split into batches do not matter.
class MarginScorer {
 public:
  /// @throws InvalidArgument  fewer than two classes: there is no other class to compare
  explicit MarginScorer(std::shared_ptr<const ClassIndex> classes,
                        MarginKind kind = MarginKind::Probability);

  /// Adds the margins of some samples, each once an epoch.
  ///
  /// @param ids     samples of the data set
  /// @param logits  finite raw outputs of the network, not softmax: one row of
  ///                `class_count` per id, row after row
  /// @throws InvalidArgument  names the sample; nothing is added
  ///
  /// O(ids * class_count), no allocation.
  void add(std::span<const SampleId> ids, std::span<const float> logits);

  /// The sum of each sample.
  /// @throws InvalidArgument  a sample was never added, or not as often as the others
  ///                          (names it): such sums cannot be compared
  [[nodiscard]] std::vector<float> scores() const;

 private:
  std::shared_ptr<const ClassIndex> classes_;
  MarginKind kind_;
  std::vector<double> sums_;
  std::vector<std::uint32_t> added_;  ///< how often each sample was added
};

}  // namespace rcap
RCAP_API_END
