#include "cli/study_reporter.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/stop_signal.hpp"

namespace rcap::cli {
namespace {

std::string describe(const StudyProgress& progress) {
  std::string text = fmt::format("{} done, ", progress.done);
  if (progress.failed > 0) text += fmt::format("{} failed, ", progress.failed);
  text += fmt::format("{} running, {} left", progress.running.size(), progress.left);
  if (progress.seconds_left >= 0) {
    text += fmt::format(", about {} to go", as_time(progress.seconds_left));
  }
  return text;
}

}  // namespace

void StudyReporter::on_note(const std::string& note) {
  if (quiet_) return;
  bar_.clear();
  fmt::print(stderr, "note: {}\n", note);
}

void StudyReporter::on_progress(const StudyProgress& progress) {
  if (!bar_.is_due()) return;
  bar_.show(progress.part,
            fmt::format("{}  {}", describe(progress), fmt::join(progress.running, " ")));
}

void StudyReporter::on_run_end(const PlannedRun& run, double seconds, const std::string& error,
                               const StudyProgress& progress) {
  if (quiet_) return;
  if (!error.empty()) {
    bar_.clear();
    fmt::print(stderr, "{} failed after {:.1f} s: {}\n", run.name, seconds, error);
  } else if (!bar_.is_shown()) {
    fmt::print(stderr, "{} {:.1f} s  ({})\n", run.name, seconds, describe(progress));
  }
}

bool StudyReporter::wants_to_stop() const { return stop_was_asked(); }

}  // namespace rcap::cli
