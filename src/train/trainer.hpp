#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "data/dataset.hpp"
#include "train/options.hpp"
#include "train/records.hpp"

namespace rcap {

/// Where a run stands, for a progress bar.
struct Progress {
  std::string_view phase;  ///< "scoring", "initial pass", "training", "evaluating"
  std::int64_t epoch = 0;
  std::int64_t epochs = 0;
  std::int64_t samples = 0;        ///< of the epoch or pass so far
  std::int64_t samples_total = 0;  ///< of the epoch or pass
  double loss = 0;                 ///< mean of the epoch so far
  double done = 0;                 ///< fraction of the phase, 0 to 1
};

/// Is notified of what happens in a run, and may stop it. Nothing else it does affects the result.
class TrainListener {
 public:
  virtual ~TrainListener() = default;
  virtual void on_start(const Dataset&, const TrainOptions&) {}
  /// Something about the run that a person should know.
  virtual void on_remark(const std::string&) {}
  virtual void on_resume(std::int64_t /*epoch*/, std::int64_t /*batch*/) {}
  virtual void on_progress(const Progress&) {}
  virtual void on_epoch(const EpochRecord&, std::int64_t /*epochs*/) {}
  /// Asked after every batch: whether to save a checkpoint and stop.
  [[nodiscard]] virtual bool wants_to_stop() const { return false; }
};

struct RunOptions {
  std::filesystem::path out;
  bool resume = false;
};

/// Trains a network as the options say and writes everything to the run's folder.
///
/// @return the contents of `summary.json`; empty if the listener stopped the run
/// @throws InvalidArgument  options out of range, a folder that has a run already, a loss
///                          that is not finite (names epoch, batch and samples)
/// @throws BadFile          data or checkpoints cannot be read, results cannot be written
/// @throws StateMismatch    a run to be resumed began with other options
std::optional<Summary> train(const TrainOptions& options, const RunOptions& run,
                             TrainListener& listener);

/// Trains on everything and writes the scores for `options.make_scores` to the run's folder, to be
/// used as `TrainOptions::scores` of other runs.
///
/// @return false if the listener stopped it
/// @throws  as `train` does; InvalidArgument also for a method that needs no scores
bool score(const TrainOptions& options, const RunOptions& run, TrainListener& listener);

}  // namespace rcap
