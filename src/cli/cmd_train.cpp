#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>

#include "cli/command_line.hpp"
#include "cli/machine.hpp"
#include "cli/progress_bar.hpp"
#include "cli/run_main.hpp"
#include "cli/tell.hpp"
#include "io/toml_options.hpp"
#include "train/options.hpp"
#include "train/presets.hpp"
#include "train/run_folder.hpp"
#include "train/trainer.hpp"
#include "train/training_data.hpp"

namespace rcap::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* TrainSummary =
    "Trains a network on a part of the data each epoch, and reports the accuracy of each class.";
constexpr const char* TrainFooter =
    R"(Results go to --out: summary.json, epochs.jsonl (one line per epoch), options.toml (repeat the
run with --config), checkpoint/ and event files for TensorBoard.

A tenth of long-tailed Fashion-MNIST each epoch, on this machine:
  rcap train --method rcap --pruning-rate 0.9 --out runs/rcap
The same on everything, to compare:
  rcap train --method full --out runs/full
To resume after a stop, exactly where it was:
  rcap train --out runs/full --resume)";

struct TrainArguments {
  fs::path out;
  bool resume = false, dry_run = false, quiet = false, json = false;
  std::vector<GivenOption> given;  ///< options of the run
  bool has_config = false;
};

bool parse(std::span<const std::string> words, TrainArguments& arguments) {
  CommandLine line("train", TrainSummary, TrainFooter);
  std::string preset(presets().front().name);
  TrainOptions defaults = make_options({}, Reader::CommandLine);
  defaults.threads = available_threads();
  OptionFields fields;
  fields.group("What");
  list_preset(fields, preset);
  list_run_options(fields, defaults);
  line.collect(fields);
  line.group("Run");
  line.path("out", arguments.out, "DIR", "where results go; required");
  line.flag("resume", arguments.resume, "resume the run in --out");
  line.flag("dry_run", arguments.dry_run, "print all options as they would be used, then stop");
  line.config();
  line.flag("json", arguments.json, "print the summary as JSON");
  line.flag("quiet", arguments.quiet, "print no progress");
  collect_method_options(line, WithWindows::No);
  if (!line.parse(words)) return false;
  if (!arguments.dry_run) line.require("out", arguments.out);
  arguments.given.assign(line.given().begin(), line.given().end());
  arguments.has_config = line.has_config();
  return true;
}

/// Percent with one decimal; a dash for a group without samples.
std::string percent(double part) {
  return std::isnan(part) ? "-" : fmt::format("{:.1f}", 100 * part);
}

/// The prior-adjusted accuracies; NaN if an older version made the evaluation.
Accuracies adjusted_of(const Evaluation& evaluation) {
  return evaluation.prior_adjusted.value_or(
      Accuracies{.accuracy = NAN,
                 .worst_group_accuracy = NAN,
                 .average_group_accuracy = NAN,
                 .adjusted_average_accuracy = {},
                 .group_accuracy = std::vector<double>(evaluation.group_accuracy.size(), NAN)});
}

void print_groups(const Summary& summary) {
  constexpr std::size_t MostShown = 40;
  const Accuracies& plain = summary.evaluation;
  const Accuracies adjusted = adjusted_of(summary.evaluation);
  const std::size_t group_count = plain.group_accuracy.size();
  fmt::print("{:<20} {:>9} {:>14} {:>9}\n", "group", "accuracy", "prior-adjusted", "samples");
  for (std::size_t g = 0; g < std::min(group_count, MostShown); ++g) {
    fmt::print("{:<20} {:>9} {:>14} {:>9}\n", summary.group_names[g].substr(0, 20),
               percent(plain.group_accuracy[g]), percent(adjusted.group_accuracy[g]),
               summary.group_sizes[g]);
  }
  if (group_count > MostShown) {
    fmt::print("... and {} more in summary.json\n", group_count - MostShown);
  }
  const auto print_line = [&](const char* name, double Accuracies::*accuracy) {
    fmt::print("{:<20} {:>9} {:>14}\n", name, percent(plain.*accuracy),
               percent(adjusted.*accuracy));
  };
  print_line("worst group", &Accuracies::worst_group_accuracy);
  print_line("average group", &Accuracies::average_group_accuracy);
  print_line("all samples", &Accuracies::accuracy);
}

/// What accuracies are measured on, if not on all groups of the test samples.
void print_evaluated(const Summary& summary) {
  if (summary.evaluated_on != "test") {
    fmt::print("accuracies are of the held-out part of the training data, {} samples\n",
               summary.held_out_count);
  }
  if (summary.min_test_samples > 1) {
    fmt::print("groups with fewer than {} samples do not count in worst and average\n",
               summary.min_test_samples);
  }
}

void print_seconds(const Seconds& seconds) {
  const std::pair<const char*, double> parts[] = {
      {"forward, backward, update", seconds.train},
      {"waiting for data", seconds.data_wait},
      {"selecting", seconds.select},
      {"observing losses", seconds.observe},
      {"losses of those left out", seconds.refresh},
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
  fmt::print("{:<26} {:>9.2f}\n", "total", seconds.total());
}

/// Prints what a person wants to know about a finished run.
void print_summary(const Summary& summary, const std::filesystem::path& out) {
  print_groups(summary);
  print_evaluated(summary);
  print_seconds(summary.seconds);
  fmt::print("\n{} of {} samples per epoch, {} seen in {} epochs; results in {}\n",
             summary.keep_count, summary.n_train, summary.samples_seen, summary.epochs,
             out.string());
}

/// Shows a run: a progress bar on a terminal, one line per epoch in a log. Asks it to stop when
/// the user does: the batch ends and a checkpoint is saved.
class TrainReporter final : public TrainListener {
 public:
  explicit TrainReporter(bool quiet) : quiet_(quiet), bar_(!quiet) {}

  void on_start(const Dataset& dataset, const TrainOptions& options) override {
    if (quiet_) return;
    print(fmt::format("{}: {} training samples in {} classes, {} to evaluate on; {}, {}",
                      dataset.name, dataset.train.size(), dataset.class_count(),
                      evaluated_split(dataset, options.evaluate).size(), options.model,
                      options.method));
    for (const std::string& remark : dataset.remarks) print("note: " + remark);
  }

  void on_remark(const std::string& remark) override {
    if (!quiet_) print("note: " + remark);
  }

  void on_resume(std::int64_t epoch, std::int64_t batch) override {
    if (!quiet_) print(fmt::format("resumed at epoch {}, batch {}", epoch + 1, batch));
  }

  void on_progress(const Progress& progress) override {
    if (progress.phase != phase_) begin_phase(progress);
    if (!bar_.is_due()) return;
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
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

  void on_epoch(const EpochRecord& record, std::int64_t epochs) override {
    // If there is a bar, only evaluations are worth a line that stays.
    if (quiet_ || (bar_.is_on_terminal() && !record.evaluation)) return;
    std::string line = fmt::format("epoch {:>3}/{}  loss {:.4f}  {} samples", record.epoch + 1,
                                   epochs, record.train_loss, record.selected);
    if (record.evaluation) {
      const auto text_of = [](const Accuracies& found) {
        return fmt::format("worst group {}, average {}", percent(found.worst_group_accuracy),
                           percent(found.average_group_accuracy));
      };
      line += fmt::format("  accuracy: {}; prior-adjusted: {}", text_of(*record.evaluation),
                          text_of(adjusted_of(*record.evaluation)));
    }
    print(line + fmt::format("  {:.1f} s", record.seconds.total()));
  }

  [[nodiscard]] bool wants_to_stop() const override { return stop_was_asked(); }

  void finish() { bar_.clear(); }

 private:
  using Clock = std::chrono::steady_clock;

  void print(const std::string& line) {
    bar_.clear();
    tell("{}\n", line);
  }

  void begin_phase(const Progress& progress) {
    phase_ = progress.phase;
    done_at_start_ = progress.done;
    start_ = Clock::now();
    samples_ = 0;
    last_samples_ = progress.samples;
  }

  /// Samples per second of the current epoch or pass, as far as known.
  double rate(const Progress& progress) {
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

  bool quiet_;
  ProgressBar bar_;
  std::string phase_;
  double done_at_start_ = 0;
  Clock::time_point start_;
  double samples_ = 0;  ///< per second, smoothed
  std::int64_t last_samples_ = 0;
  Clock::time_point last_time_;
};

/// --resume takes everything that is not given from the run's own options.
TrainOptions options_of(const TrainArguments& arguments) {
  if (arguments.resume) require_begun_run(arguments.out);
  if (arguments.resume && !arguments.has_config) {
    return make_options_to_go_on(read_toml_options(arguments.out / run_files::Options),
                                 arguments.given, Reader::CommandLine);
  }
  std::vector<GivenOption> given = arguments.given;
  if (std::ranges::find(given, "threads", &GivenOption::name) == given.end()) {
    given.push_back({"threads", fmt::format("{}", available_threads())});
  }
  return make_options(given, Reader::CommandLine);
}

[[noreturn]] void throw_stopped(const fs::path& out) {
  throw Stopped(fmt::format("stopped, nothing is lost; resume with: rcap train --out {} --resume",
                            out.string()));
}

void make_scores(const TrainArguments& arguments, const TrainOptions& options,
                 TrainReporter& reporter) {
  const bool done = score(options, {arguments.out, arguments.resume}, reporter);
  reporter.finish();
  if (!done) throw_stopped(arguments.out);
  if (!arguments.quiet) {
    fmt::print("scores for {} in {}\n", fmt::join(options.make_scores, ","),
               (arguments.out / run_files::Scores).string());
  }
}

void run_train(std::span<const std::string> words) {
  TrainArguments arguments;
  if (!parse(words, arguments)) return;
  const TrainOptions options = options_of(arguments);
  if (arguments.dry_run) return fmt::print("{}", to_toml(options));
  if (lacks_weights(arguments.given) && !arguments.quiet) {
    tell(
        "note: the paper's experiment starts from official weights; without --weights this run "
        "starts from random ones\n");
  }
  TrainReporter reporter(arguments.quiet);
  watch_for_stop();
  if (!options.make_scores.empty()) return make_scores(arguments, options, reporter);
  const auto summary = train(options, {arguments.out, arguments.resume}, reporter);
  reporter.finish();
  if (!summary) throw_stopped(arguments.out);
  if (arguments.json) {
    fmt::print("{}", to_text(*summary));
  } else {
    print_summary(*summary, arguments.out);
  }
}

/// Every step allocates and frees the same megabytes. By default the C library returns large blocks
/// to the system each time and gets them back page by page, which can cost a third of a step of a
/// small network.
void keep_freed_memory() {
  constexpr int Large = 1 << 30;
  ::mallopt(M_MMAP_THRESHOLD, Large);
  ::mallopt(M_TRIM_THRESHOLD, Large);
}

}  // namespace
}  // namespace rcap::cli

int main(int argc, char** argv) {
  rcap::cli::keep_freed_memory();
  return rcap::cli::run_main(argc, argv, rcap::cli::run_train);
}
