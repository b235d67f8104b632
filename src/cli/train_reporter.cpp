#include "cli/train_reporter.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "cli/stop_signal.hpp"

namespace rcap::cli {
namespace {

/// Percent with one decimal; a dash for a group without samples.
std::string percent(double part) {
  return std::isnan(part) ? "-" : fmt::format("{:.1f}", 100 * part);
}

void print_groups(const Summary& summary) {
  constexpr std::size_t MostShown = 40;
  const auto& accuracies = summary.evaluation.group_accuracy;
  fmt::print("{:<20} {:>9} {:>9}\n", "group", "accuracy", "samples");
  for (std::size_t g = 0; g < std::min(accuracies.size(), MostShown); ++g) {
    fmt::print("{:<20} {:>9} {:>9}\n", summary.group_names[g].substr(0, 20), percent(accuracies[g]),
               summary.group_sizes[g]);
  }
  if (accuracies.size() > MostShown) {
    fmt::print("... and {} more in summary.json\n", accuracies.size() - MostShown);
  }
  fmt::print("{:<20} {:>9}\n{:<20} {:>9}\n{:<20} {:>9}\n", "worst group",
             percent(summary.evaluation.worst_group_accuracy), "average group",
             percent(summary.evaluation.average_group_accuracy), "all samples",
             percent(summary.evaluation.accuracy));
}

void print_seconds(const Seconds& seconds) {
  const std::pair<const char*, double> parts[] = {
      {"forward, backward, update", seconds.train},
      {"waiting for data", seconds.data_wait},
      {"selecting", seconds.select},
      {"observing losses", seconds.observe},
      {"pass before training", seconds.initial_pass},
      {"scoring run", seconds.scoring},
      {"evaluating", seconds.evaluate},
      {"checkpoints", seconds.checkpoint},
      {"opening data, set-up", seconds.setup},
  };
  fmt::print("\n{:<26} {:>9}\n", "where the time went", "seconds");
  for (const auto& [name, value] : parts) {
    if (value > 0) fmt::print("{:<26} {:>9.2f}\n", name, value);
  }
  fmt::print("{:<26} {:>9.2f}\n", "all", seconds.total());
}

}  // namespace

void TrainReporter::on_start(const Dataset& dataset, const TrainOptions& options) {
  if (quiet_) return;
  print(fmt::format("{}: {} training samples in {} classes, {} to evaluate with; {}, {}",
                    dataset.name, dataset.train.size(), dataset.class_count(), dataset.test.size(),
                    options.model, options.method));
  for (const std::string& remark : dataset.remarks) print("note: " + remark);
}

void TrainReporter::on_resume(std::int64_t epoch, std::int64_t batch) {
  if (!quiet_) print(fmt::format("resumed at epoch {}, batch {}", epoch + 1, batch));
}

void TrainReporter::on_progress(const Progress& progress) {
  if (progress.phase != phase_) begin_phase(progress);
  if (!bar_.is_due()) return;
  const double seconds = since_phase();
  const double gained = progress.done - done_at_start_;
  std::string text = progress.phase == "training" || progress.phase == "scoring"
                         ? fmt::format("{} epoch {}/{}  loss {:.3f}", progress.phase,
                                       progress.epoch + 1, progress.epochs, progress.loss)
                         : std::string(progress.phase);
  if (seconds > 0.5 && gained > 0) {
    text += fmt::format("  {:.0f} samples/s  {} left", rate(progress),
                        as_time(seconds * (1 - progress.done) / gained));
  }
  bar_.show(progress.done, text);
}

void TrainReporter::on_epoch(const EpochRecord& record, std::int64_t epochs) {
  // Where a bar tells the rest, only evaluations are worth a line that stays.
  if (quiet_ || (bar_.is_shown() && !record.evaluation)) return;
  std::string line = fmt::format("epoch {:>3}/{}  loss {:.4f}  {} samples", record.epoch + 1,
                                 epochs, record.train_loss, record.selected);
  if (record.evaluation) {
    line += fmt::format("  accuracy: worst group {}, average {}",
                        percent(record.evaluation->worst_group_accuracy),
                        percent(record.evaluation->average_group_accuracy));
  }
  print(line + fmt::format("  {:.1f} s", record.seconds.total()));
}

void TrainReporter::on_remark(const std::string& remark) {
  if (!quiet_) print("note: " + remark);
}

bool TrainReporter::wants_to_stop() const { return stop_was_asked(); }

void TrainReporter::print(const std::string& line) {
  bar_.clear();
  fmt::print(stderr, "{}\n", line);
}

void TrainReporter::begin_phase(const Progress& progress) {
  phase_ = progress.phase;
  done_at_start_ = progress.done;
  start_ = Clock::now();
  samples_ = 0;
  last_samples_ = progress.samples;
}

double TrainReporter::since_phase() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

/// Samples a second of the current epoch or pass, as far as it is known.
double TrainReporter::rate(const Progress& progress) {
  const auto now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - last_time_).count();
  if (progress.samples > last_samples_ && seconds > 0 && last_time_ != Clock::time_point()) {
    const double newest = static_cast<double>(progress.samples - last_samples_) / seconds;
    samples_ = samples_ == 0 ? newest : 0.8 * samples_ + 0.2 * newest;
  }
  last_samples_ = progress.samples;
  last_time_ = now;
  return samples_;
}

void print_summary(const Summary& summary, const std::filesystem::path& out) {
  print_groups(summary);
  print_seconds(summary.seconds);
  fmt::print("\n{} of {} samples an epoch, {} seen in {} epochs; results in {}\n",
             summary.keep_count, summary.n_train, summary.samples_seen, summary.epochs,
             out.string());
}

}  // namespace rcap::cli
