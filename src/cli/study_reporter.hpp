#pragma once

#include <string>

#include "cli/progress_bar.hpp"
#include "study/run_study.hpp"

namespace rcap::cli {

/// Shows a study: a bar on a terminal, one line per run in a log.
class StudyReporter final : public StudyListener {
 public:
  explicit StudyReporter(bool quiet) : quiet_(quiet), bar_(!quiet) {}

  void on_note(const std::string& note) override;
  void on_progress(const StudyProgress& progress) override;
  void on_run_end(const PlannedRun& run, double seconds, const std::string& error,
                  const StudyProgress& progress) override;
  [[nodiscard]] bool wants_to_stop() const override;

  void finish() { bar_.clear(); }

 private:
  bool quiet_;
  ProgressBar bar_;
};

}  // namespace rcap::cli
