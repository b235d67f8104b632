#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rcap/core/pruner.hpp"
#include "train/engine.hpp"
#include "train/options.hpp"
#include "train/records.hpp"

namespace rcap {

/// Where a run stands between two batches, besides its tensors and its pruner. Order,
/// augmentation and dropout are functions of (seed, epoch, sample or batch): there is no
/// generator to remember.
struct RunState {
  std::int64_t epoch = 0;  ///< the one under way
  std::int64_t batch = 0;  ///< finished batches of that epoch
  std::int64_t step = 0;   ///< finished batches of the run
  std::int64_t samples_seen = 0;
  /// Samples that went forward only, for the method; empty in checkpoints of older versions.
  std::optional<std::int64_t> forward_samples = 0;
  /// Sum of the losses of each class, over the samples of the epoch so far.
  std::vector<double> class_loss_sums;
  Seconds epoch_seconds;
  Seconds run_seconds;  ///< of the run so far, without the current epoch
};

/// Checkpoints of one run: a folder for each, `epoch-000012-batch-000345`, with the tensors
/// (safetensors) and the pruner's state. A checkpoint is written under another name and renamed
/// when it is complete and on disk; then the previous one is removed. A crash at any moment leaves
/// one complete checkpoint.
class Checkpoints {
 public:
  /// @param options  of the run; every checkpoint stores them
  Checkpoints(std::filesystem::path folder, TrainOptions options)
      : folder_(std::move(folder)), options_(std::move(options)) {}

  [[nodiscard]] bool any() const;

  /// @throws BadFile  names the file and the reason; the last checkpoint is still there
  void save(const RunState& state, const Engine& engine, const Pruner& pruner) const;

  /// Loads the newest checkpoint.
  /// @throws BadFile, StateMismatch  it is damaged, belongs to another network or method, or was
  ///                                 written with other options: options.toml was edited since
  [[nodiscard]] RunState load(Engine& engine, Pruner& pruner) const;

 private:
  /// Oldest first.
  [[nodiscard]] std::vector<std::filesystem::path> found() const;
  void write(const std::filesystem::path& target, const RunState& state, const Engine& engine,
             const Pruner& pruner) const;
  void require_same_options(const std::filesystem::path& path,
                            const std::map<std::string, std::string>& metadata) const;

  std::filesystem::path folder_;
  TrainOptions options_;
};

}  // namespace rcap
