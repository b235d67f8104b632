#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

#include "cli/progress_bar.hpp"
#include "train/trainer.hpp"

namespace rcap::cli {

/// Shows a run: a progress bar on a terminal, one line per epoch in a log. Asks it to stop when
/// the user does (`watch_for_stop`): the batch ends and a checkpoint is saved.
class TrainReporter final : public TrainListener {
 public:
  explicit TrainReporter(bool quiet) : quiet_(quiet), bar_(!quiet) {}

  void on_start(const Dataset& dataset, const TrainOptions& options) override;
  void on_remark(const std::string& remark) override;
  void on_resume(std::int64_t epoch, std::int64_t batch) override;
  void on_progress(const Progress& progress) override;
  void on_epoch(const EpochRecord& record, std::int64_t epochs) override;
  [[nodiscard]] bool wants_to_stop() const override;

  void finish() { bar_.clear(); }

 private:
  using Clock = std::chrono::steady_clock;

  void print(const std::string& line);
  void begin_phase(const Progress& progress);
  [[nodiscard]] double since_phase() const;
  double rate(const Progress& progress);

  bool quiet_;
  ProgressBar bar_;
  std::string phase_;
  double done_at_start_ = 0;
  Clock::time_point start_;
  double samples_ = 0;  ///< a second, smoothed
  std::int64_t last_samples_ = 0;
  Clock::time_point last_time_;
};

/// Prints what a person wants to know of a run that has ended.
void print_summary(const Summary& summary, const std::filesystem::path& out);

}  // namespace rcap::cli
