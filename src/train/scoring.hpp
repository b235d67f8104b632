#pragma once

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

/// What static methods choose by, from training on all data. Methods that were not asked for
/// have nothing here.
struct Scores {
  std::vector<float> margins;             ///< per sample, for ccs
  std::vector<float> divergences;         ///< per sample, for tdds
  std::vector<double> recalls;            ///< per class, for metriq
  std::map<std::string, double> seconds;  ///< what scoring takes for each method alone
};

/// Whether a method chooses by scores.
[[nodiscard]] bool needs_scoring(const std::string& method);

/// Makes the scoring run of some methods: the same network, trained as the run will be but on
/// everything.
///
///  - ccs: the margins of every sample, summed over all epochs.
///  - tdds: the predictions of the first `divergence.epochs` epochs.
///  - metriq: a tenth of each class is held out; the recalls on it at the best epoch.
///
/// ccs and tdds listen to one training; metriq, which must not see all samples, has its own.
/// It is not checkpointed: killed, it begins again, and ends the same.
/// @return nothing if the listener stopped it
[[nodiscard]] std::optional<Scores> make_scores(const TrainOptions& options,
                                                std::span<const std::string> methods,
                                                const Dataset& dataset,
                                                const std::shared_ptr<const ClassIndex>& classes,
                                                TrainListener& listener);

/// Scores as a file that other runs can use (--scores): safetensors with the fingerprint of
/// the labels and the seconds of each method.
void write_scores(const std::filesystem::path& path, const Scores& scores,
                  const TrainOptions& options, const ClassIndex& classes);

/// The scores of `options.method`.
/// @throws BadFile        not a file of scores
/// @throws StateMismatch  scores of other methods or of another data set
[[nodiscard]] Scores read_scores(const std::filesystem::path& path, const TrainOptions& options,
                                 const ClassIndex& classes);

}  // namespace rcap
