#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rcap/core/class_index.hpp"
#include "train/trainer.hpp"

namespace rcap {

/// One in this many samples of each class is held out to measure recalls.
inline constexpr std::int64_t RecallsHoldOutOneIn = 10;

/// What scoring costs for one method alone.
struct ScoringCost {
  double seconds = 0;
  std::optional<SampleCost> samples;  ///< empty in score files of older versions
};

/// What static methods select by, from training on all data. Empty for methods that were not asked
/// for.
struct SampleScores {
  std::map<Scores, std::vector<float>> per_sample;  ///< by kind, all kinds but recalls
  std::vector<float> mean_probabilities;            ///< per sample, with those of `Scores::Dual`
  std::vector<double> recalls;                      ///< per class
  std::map<std::string, ScoringCost> costs;         ///< by method
};

/// Makes the scoring run for some methods: the same network, trained as the run will be, but on
/// everything.
///
///  - Margins: of every sample, summed over all epochs.
///  - Divergences: of the predictions of the first `score_epochs` epochs.
///  - Error norms: means over the last `score_window` of the first `el2n_epochs` epochs.
///  - Forgetting: counted over all epochs.
///  - Uncertainties: over all epochs.
///  - Dual: of the first `dual_epochs` epochs.
///  - Recalls: a tenth of each class is held out; the recalls on it at the best epoch.
///
/// In a shorter run, windows and numbers of epochs are cut to its epochs. All but recalls come from
/// one training, as long as the longest of them takes; recalls, for which some samples must not be
/// seen, from a separate one. It writes no checkpoints: if killed, it starts again and ends with
/// the same result.
/// @return empty if the listener stopped it
[[nodiscard]] std::optional<SampleScores> make_scores(
    const TrainOptions& options, std::span<const std::string> methods, const Dataset& dataset,
    const std::shared_ptr<const ClassIndex>& classes, TrainListener& listener);

/// Scores as a file that other runs can use (`TrainOptions::scores`): safetensors with the
/// fingerprint of the labels and the cost of each method.
void write_scores(const std::filesystem::path& path, const SampleScores& scores,
                  const TrainOptions& options, const ClassIndex& classes);

/// The scores of `options.method`.
/// @throws BadFile        not a score file
/// @throws StateMismatch  scores for other methods or of another data set
[[nodiscard]] SampleScores read_scores(const std::filesystem::path& path,
                                       const TrainOptions& options, const ClassIndex& classes);

}  // namespace rcap
