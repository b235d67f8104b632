#include "study/run_study.hpp"

#include <algorithm>
#include <chrono>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/make_folder.hpp"
#include "base/staged_file.hpp"
#include "base/text_file.hpp"
#include "rcap/core/error.hpp"
#include "study/child_process.hpp"
#include "study/cost_model.hpp"
#include "study/folder_lock.hpp"
#include "study/plan_file.hpp"
#include "train/run_folder.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds Tick{250};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// What a finished run took, without its shared scoring run.
double seconds_of_run(const StudyFolder& folder, const PlannedRun& run) {
  const fs::path path = folder.run(run.name) / run_files::Summary;
  const Seconds seconds = summary_from_text(path, read_text(path)).seconds;
  return seconds.total() - (run.scores_from.empty() ? 0 : seconds.scoring);
}

/// Moves a run out of the way, so that it can be made again and nothing is lost.
void set_aside(const StudyFolder& folder, const std::string& name) {
  fs::remove(folder.failure(name));
  if (!fs::exists(folder.run(name))) return;
  const fs::path replaced = folder.path() / "replaced";
  make_folder(replaced);
  fs::path target = replaced / name;
  for (int i = 2; fs::exists(target); ++i) target = replaced / fmt::format("{}-{}", name, i);
  fs::rename(folder.run(name), target);
}

/// Sets aside the runs that the new plan drops or changes.
void amend(const StudyFolder& folder, const StudyPlan& before, const StudyPlan& after) {
  for (const PlannedRun& run : before.runs) {
    const auto now = std::ranges::find(after.runs, run.name, &PlannedRun::name);
    if (now == after.runs.end() || words_of(now->options) != words_of(run.options)) {
      set_aside(folder, run.name);
    }
  }
}

void take_over_plan(const StudyFolder& folder, const StudyPlan& plan, bool may_amend) {
  if (fs::exists(folder.plan())) {
    const StudyPlan before = read_plan(folder.plan());
    const auto difference = difference_of(before, plan);
    if (!difference.empty() && !may_amend) {
      throw InvalidArgument(fmt::format(
          "{}: the study began with another plan: {}; choose another folder, or accept the new "
          "plan with amend (runs that it changes are moved to {} and made again)",
          folder.path().string(), fmt::join(difference, "; "),
          (folder.path() / "replaced").string()));
    }
    amend(folder, before, plan);
  }
  write_plan(folder.plan(), plan);
}

/// The last line a run printed.
std::string last_line(const fs::path& log) {
  const auto lines = lines_of(read_text(log));
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (!line->empty()) return line->starts_with("rcap: ") ? line->substr(6) : *line;
  }
  return "it printed no message";
}

/// A study under way.
class Study {
 public:
  Study(const StudyPlan& plan, const StudyFolder& folder, const StudySettings& settings,
        StudyListener& listener)
      : plan_(plan), folder_(folder), settings_(settings), listener_(listener) {}

  StudyOutcome execute() {
    sort_out();
    while (!running_.empty() || (!pending_.empty() && !outcome_.stopped)) {
      check_for_stop();
      fill_slots();
      listener_.on_progress(progress());
      const auto waiting_since = Clock::now();
      const auto end = children_.wait_for_child(Tick);
      waiting_seconds_ += seconds_since(waiting_since);
      if (end) finish(*end);
    }
    for (const auto& [name, reason] : given_up_) outcome_.missing.push_back({name, reason});
    outcome_.seconds = seconds_since(start_);
    outcome_.own_seconds = outcome_.seconds - waiting_seconds_;
    return std::move(outcome_);
  }

 private:
  struct Running {
    const PlannedRun* run;
    Clock::time_point start;
  };

  /// Decides what is left to do.
  void sort_out() {
    for (const PlannedRun& run : plan_.runs) {
      const RunCondition condition = condition_of(folder_, run);
      if (condition.status == RunStatus::Done) {
        ++outcome_.done;
        // A scoring run does not record its time.
        if (!run.makes_scores) costs_.add(run, seconds_of_run(folder_, run));
      } else if (condition.status == RunStatus::Failed && !settings_.rerun_failed) {
        given_up_.emplace(run.name, condition.reason);
      } else if (condition.status == RunStatus::Damaged && !settings_.rerun_damaged) {
        given_up_.emplace(run.name, condition.reason);
        listener_.on_note(fmt::format("{}: {}; it is only made again if damaged runs are rerun",
                                      run.name, condition.reason));
      } else {
        if (condition.status == RunStatus::Damaged) set_aside(folder_, run.name);
        fs::remove(folder_.failure(run.name));
        remove_staged(folder_.failure(run.name));
        pending_.push_back(&run);
      }
    }
  }

  void check_for_stop() {
    if (outcome_.stopped || !listener_.wants_to_stop()) return;
    outcome_.stopped = true;
    // Each saves a checkpoint and ends.
    for (const auto& [process, running] : running_) ::kill(process, SIGTERM);
  }

  void fill_slots() {
    while (!outcome_.stopped && std::cmp_less(running_.size(), settings_.jobs)) {
      const auto next = std::ranges::find_if(
          pending_, [&](const PlannedRun* run) { return !waits(run->scores_from); });
      if (next == pending_.end()) return;
      const PlannedRun& run = **next;
      pending_.erase(next);
      if (given_up_.contains(run.scores_from)) {
        given_up_.emplace(run.name, fmt::format("its scoring run {} failed", run.scores_from));
        continue;
      }
      const pid_t process = children_.start(settings_.train_program, command_of(run),
                                            fs::absolute(folder_.path()), folder_.log(run.name));
      running_[process] = {&run, Clock::now()};
    }
  }

  /// Whether the run of that name has yet to end.
  [[nodiscard]] bool waits(const std::string& name) const {
    if (name.empty()) return false;
    const auto has_name = [&](const PlannedRun* run) { return run->name == name; };
    return std::ranges::any_of(pending_, has_name) ||
           std::ranges::any_of(running_,
                               [&](const auto& entry) { return has_name(entry.second.run); });
  }

  /// Paths are relative to the study's folder, in which the runs start, so that it can be moved.
  [[nodiscard]] std::vector<std::string> command_of(const PlannedRun& run) const {
    std::vector<std::string> words;
    for (const auto& [name, word] : words_of(run.options)) {
      words.push_back(fmt::format("{}={}", spell(name, Reader::CommandLine), word));
    }
    if (!run.scores_from.empty()) {
      words.push_back(fmt::format("--scores=runs/{}/{}", run.scores_from, run_files::Scores));
    }
    words.insert(words.end(), {fmt::format("--out=runs/{}", run.name), "--quiet"});
    if (fs::exists(folder_.run(run.name) / run_files::Options)) words.emplace_back("--resume");
    return words;
  }

  void finish(const ChildEnd& end) {
    const auto found = running_.find(end.process);
    if (found == running_.end()) return;
    const PlannedRun& run = *found->second.run;
    const double seconds = seconds_since(found->second.start);
    running_.erase(found);
    outcome_.run_seconds += seconds;
    std::string error = error_of(run, end);
    if (!error.empty() && outcome_.stopped) return;
    if (error.empty()) {
      ++outcome_.done;
      costs_.add(run, seconds);
    } else {
      write_text(folder_.failure(run.name), error);
      given_up_.emplace(run.name, error);
    }
    listener_.on_run_end(run, seconds, error, progress());
  }

  [[nodiscard]] std::string error_of(const PlannedRun& run, const ChildEnd& end) const {
    if (end.signal != 0) return fmt::format("ended by signal {}", end.signal);
    if (end.exit_code != 0) return last_line(folder_.log(run.name));
    const RunCondition condition = condition_of(folder_, run);
    return condition.status == RunStatus::Done ? "" : "it ended without a result";
  }

  [[nodiscard]] StudyProgress progress() const {
    StudyProgress progress;
    progress.done = outcome_.done;
    progress.failed = static_cast<int>(given_up_.size());
    progress.left = static_cast<int>(pending_.size());
    double left = 0;
    for (const PlannedRun* run : pending_) left += std::max(0.0, costs_.estimate(*run));
    for (const auto& [process, running] : running_) {
      progress.running.push_back(running.run->name);
      left += std::max(0.0, costs_.estimate(*running.run) - seconds_since(running.start));
    }
    const bool known = plan_.runs.empty() || costs_.estimate(plan_.runs.front()) >= 0;
    progress.seconds_left = known ? left / settings_.jobs : -1;
    progress.part = static_cast<double>(outcome_.done + progress.failed) /
                    static_cast<double>(std::max<std::size_t>(1, plan_.runs.size()));
    return progress;
  }

  const StudyPlan& plan_;
  const StudyFolder& folder_;
  const StudySettings& settings_;
  StudyListener& listener_;
  ChildWatch children_;
  CostModel costs_;
  std::vector<const PlannedRun*> pending_;
  std::map<pid_t, Running> running_;
  std::map<std::string, std::string> given_up_;  ///< failed or damaged, and why
  StudyOutcome outcome_;
  Clock::time_point start_ = Clock::now();
  double waiting_seconds_ = 0;
};

}  // namespace

StudyOutcome run_study(const StudyPlan& plan, const StudyFolder& folder,
                       const StudySettings& settings, StudyListener& listener) {
  make_folder(folder.runs());
  make_folder(folder.log("").parent_path());
  make_folder(folder.failure("").parent_path());
  const FolderLock lock(folder.path());
  take_over_plan(folder, plan, settings.amend);
  return Study(plan, folder, settings, listener).execute();
}

std::vector<RunEstimate> estimate_runs(const StudyPlan& plan, const StudyFolder& folder) {
  CostModel costs;
  for (const PlannedRun& run : plan.runs) {
    if (run.makes_scores || condition_of(folder, run).status != RunStatus::Done) continue;
    costs.add(run, seconds_of_run(folder, run));
  }
  std::vector<RunEstimate> estimates;
  for (const PlannedRun& run : plan.runs) {
    estimates.push_back({full_trainings(run), costs.estimate(run)});
  }
  return estimates;
}

}  // namespace rcap
