#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "study/results.hpp"

namespace rcap {

struct StudySettings {
  std::filesystem::path train_program;  ///< the program that trains one run: rcap-train
  int jobs = 1;                         ///< runs side by side
  bool rerun_failed = false;
  bool rerun_damaged = false;
  bool amend = false;  ///< accept a plan that differs from the one the study began with
};

/// How far a study is, for a line of progress.
struct StudyProgress {
  int done = 0;
  int failed = 0;  ///< or damaged
  int left = 0;    ///< neither done, failed nor running
  std::vector<std::string> running;
  double part = 0;          ///< fraction of the runs that are done or given up, 0 to 1
  double seconds_left = 0;  ///< estimated from the runs so far; below 0: not known yet
};

/// Is notified of what happens in a study, and may stop it.
class StudyListener {
 public:
  virtual ~StudyListener() = default;
  virtual void on_note(const std::string&) {}
  virtual void on_progress(const StudyProgress&) {}
  /// @param error  empty if the run succeeded
  virtual void on_run_end(const PlannedRun&, double /*seconds*/, const std::string& /*error*/,
                          const StudyProgress&) {}
  [[nodiscard]] virtual bool wants_to_stop() const { return false; }
};

struct StudyOutcome {
  int done = 0;
  std::vector<MissingRun> missing;
  bool stopped = false;
  double seconds = 0;      ///< from start to end
  double run_seconds = 0;  ///< sum over the processes started by this call
  double own_seconds = 0;  ///< what the study itself took, while no slot waited for a run
};

/// Makes all runs of a plan that are not done, each as a separate process in its own folder.
///
/// Whatever happens to this process, and whenever, the runs end with the same results once it is
/// started again: a run that was under way is resumed at its last checkpoint. The processes do not
/// outlive this one.
///
/// @throws InvalidArgument  the study began with another plan and `amend` is off (names the
///                          differences), or another process holds the folder
/// @throws BadFile          the folder cannot be created or written
[[nodiscard]] StudyOutcome run_study(const StudyPlan& plan, const StudyFolder& folder,
                                     const StudySettings& settings, StudyListener& listener);

/// What the runs of a plan cost, as far as it is known before they are made.
struct RunEstimate {
  double full_trainings = 0;  ///< samples seen, relative to one training on everything
  double seconds = -1;        ///< from finished runs of the study; below 0: not known yet
};

[[nodiscard]] std::vector<RunEstimate> estimate_runs(const StudyPlan& plan,
                                                     const StudyFolder& folder);

}  // namespace rcap
