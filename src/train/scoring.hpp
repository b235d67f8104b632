#pragma once

#include <filesystem>
#include <memory>

#include "rcap/core/class_index.hpp"
#include "rcap/train/trainer.hpp"

namespace rcap {

/// What a static method chooses by, from a training run on all data.
struct Scores {
  std::vector<float> scores;    ///< per sample, for ccs and tdds
  std::vector<double> recalls;  ///< per class, for metriq
  double seconds = 0;           ///< what the scoring run took
};

/// Makes the scoring run of `options.method`: the same network, trained as the run will be
/// but on everything.
///
///  - ccs: the margins of every sample, summed over all epochs.
///  - tdds: the predictions of the first `divergence.epochs` epochs.
///  - metriq: a tenth of each class is held out; the recalls on it at the best epoch.
///
/// It is not checkpointed: killed, it begins again, and ends the same.
[[nodiscard]] Scores make_scores(const TrainOptions& options, const Dataset& dataset,
                                 const std::shared_ptr<const ClassIndex>& classes,
                                 TrainListener& listener);

/// Scores as a file that other runs can use (--scores): safetensors with the method and the
/// fingerprint of the labels.
void write_scores(const std::filesystem::path& path, const Scores& scores,
                  const TrainOptions& options, const ClassIndex& classes);

/// @throws BadFile        not a file of scores
/// @throws StateMismatch  scores of another method or data set
[[nodiscard]] Scores read_scores(const std::filesystem::path& path, const TrainOptions& options,
                                 const ClassIndex& classes);

}  // namespace rcap
