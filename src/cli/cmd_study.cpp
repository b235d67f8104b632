#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/external_command.hpp"
#include "cli/machine.hpp"
#include "cli/progress_bar.hpp"
#include "cli/run_main.hpp"
#include "cli/tell.hpp"
#include "rcap/core/error.hpp"
#include "study/figures.hpp"
#include "study/overview.hpp"
#include "study/plan_file.hpp"
#include "study/report.hpp"
#include "study/run_study.hpp"
#include "study/tables.hpp"

namespace rcap::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* StudySummary =
    "Compares methods: makes every run of a plan, then tables, figures and a report.";
constexpr const char* StudyFooter =
    R"(PLAN.toml says what to run: data sets x methods x rates x betas x
seeds. Ready-made plans are in plans/; a short one:
  seeds = [0, 27, 100]
  pruning-rates = [0.7, 0.9]
  methods = ["full", "rs2", "rcap", {name = "rcap mass", method = "rcap", class-share = "mass"}]
  [options]              # of every run, as rcap train --help names them
  epochs = 20
  [[datasets]]
  name = "long-tailed"
  dataset = "fashion-mnist"
  imbalance = 100

Every run has its own folder, DIR/runs/NAME, as rcap train writes it. The study can be stopped
or killed at any time: the same command continues where it was. In the end DIR holds tables.md
(and each table as .md, .csv, .tex), figure_*.svg and report.html.

Examples: list the runs; make them, two at a time
  rcap study plans/fashion.toml --out studies/fashion --dry-run
  rcap study plans/fashion.toml --out studies/fashion --jobs 2)";

enum class Rerun { Nothing, Failed, Damaged, Both };

struct StudyArguments {
  fs::path plan, out, data_root;
  std::optional<int> threads;
  Rerun rerun = Rerun::Nothing;
  StudySettings settings;
  bool dry_run = false, quiet = false, json = false;
};

bool parse(std::span<const std::string> words, StudyArguments& arguments) {
  CommandLine line("study", StudySummary, StudyFooter);
  line.argument("PLAN.toml", arguments.plan);
  line.group("Study");
  line.path("out", arguments.out, "DIR", "where runs, tables, figures and report go; required");
  line.path("data_root", arguments.data_root, "DIR",
            "folder that relative paths in the plan (data, weights, scores) start from [this one]");
  line.flag("dry_run", arguments.dry_run, "list the runs and what they cost, then stop");
  line.flag("amend", arguments.settings.amend,
            "accept a changed plan; runs that it changes are set aside and made again");
  line.choice("rerun", arguments.rerun, {"nothing", "failed", "damaged", "both"},
              "make failed runs again, or those whose files are damaged");
  line.group("Machine");
  line.count("jobs", arguments.settings.jobs, "N", "number of runs side by side",
             Range::between(1, 4096));
  line.count("threads", arguments.threads, "N",
             "threads of all runs together, divided among them [all]", Range::between(1, 4096));
  line.flag("json", arguments.json, "print the outcome as JSON");
  line.flag("quiet", arguments.quiet, "print no progress");
  if (!line.parse(words)) return false;
  if (arguments.plan.empty()) {
    throw InvalidArgument("study: PLAN.toml is missing: rcap study PLAN.toml --out DIR");
  }
  line.require("out", arguments.out);
  arguments.settings.rerun_failed =
      arguments.rerun == Rerun::Failed || arguments.rerun == Rerun::Both;
  arguments.settings.rerun_damaged =
      arguments.rerun == Rerun::Damaged || arguments.rerun == Rerun::Both;
  return true;
}

/// Shows a study: a progress bar on a terminal, a line for every run in a log.
class StudyReporter final : public StudyListener {
 public:
  explicit StudyReporter(bool quiet) : quiet_(quiet), bar_(!quiet) {}

  void on_note(const std::string& note) override {
    if (quiet_) return;
    bar_.clear();
    tell("note: {}\n", note);
  }

  void on_progress(const StudyProgress& progress) override {
    if (!bar_.is_due()) return;
    bar_.show(progress.part,
              fmt::format("{}  {}", describe(progress), fmt::join(progress.running, " ")));
  }

  void on_run_end(const PlannedRun& run, double seconds, const std::string& error,
                  const StudyProgress& progress) override {
    if (quiet_) return;
    bar_.clear();
    if (!error.empty()) {
      tell("{} failed after {:.1f} s: {}\n", run.name, seconds, error);
    } else if (!bar_.is_on_terminal()) {
      tell("{} {:.1f} s  ({})\n", run.name, seconds, describe(progress));
    }
  }

  [[nodiscard]] bool wants_to_stop() const override { return stop_was_asked(); }

  void finish() { bar_.clear(); }

 private:
  static std::string describe(const StudyProgress& progress) {
    std::string text = fmt::format("{} done, ", progress.done);
    if (progress.failed > 0) text += fmt::format("{} failed, ", progress.failed);
    text += fmt::format("{} running, {} left", progress.running.size(), progress.left);
    if (progress.seconds_left >= 0) {
      text += fmt::format(", about {} to go", as_time(progress.seconds_left));
    }
    return text;
  }

  bool quiet_;
  ProgressBar bar_;
};

/// Threads of one run. Their number affects the last digits, so a study keeps the one it began
/// with.
int threads_of_a_run(const StudyArguments& arguments, const StudyFolder& folder) {
  if (!arguments.threads && fs::exists(folder.plan())) {
    const StudyPlan begun = read_plan(folder.plan());
    if (!begun.runs.empty()) return begun.runs.front().options.threads;
  }
  return std::max(1, arguments.threads.value_or(available_threads()) / arguments.settings.jobs);
}

fs::path find_train_program() {
  if (const auto program = find_external_command("train")) return *program;
  throw InvalidArgument(
      "study: the program rcap-train, which trains the runs, is not next to rcap; build with "
      "RCAP_TRAIN=ON");
}

void print_dry_run(const StudyPlan& plan, const StudyFolder& folder) {
  const auto estimates = estimate_runs(plan, folder);
  double trainings = 0, seconds = 0;
  int left = 0;
  fmt::print("{:<60} {:>14} {:>10}  {}\n", "run", "full trainings", "estimate", "state");
  for (std::size_t i = 0; i < plan.runs.size(); ++i) {
    const RunCondition condition = condition_of(folder, plan.runs[i]);
    const bool done = condition.status == RunStatus::Done;
    fmt::print("{:<60} {:>14.2f} {:>10}  {}\n", plan.runs[i].name, estimates[i].full_trainings,
               estimates[i].seconds < 0 ? "-" : as_time(estimates[i].seconds),
               done ? "done" : condition.reason);
    if (done) continue;
    ++left;
    trainings += estimates[i].full_trainings;
    seconds += estimates[i].seconds;
  }
  fmt::print("{} runs, {} to make; they see as many samples as {:.1f} trainings on everything",
             plan.runs.size(), left, trainings);
  if (left > 0 && seconds >= 0) fmt::print(", about {} one after another", as_time(seconds));
  fmt::print("\n");
}

void print_outcome(const StudyArguments& arguments, const StudyOutcome& outcome,
                   const StudyResults& results) {
  const double own_part =
      outcome.run_seconds == 0 ? 0 : 100 * outcome.own_seconds / outcome.run_seconds;
  if (arguments.json) {
    nlohmann::ordered_json json;
    json["done"] = outcome.done;
    json["seconds"] = outcome.seconds;
    json["run_seconds"] = outcome.run_seconds;
    json["own_seconds"] = outcome.own_seconds;
    json["missing"] = nlohmann::ordered_json::array();
    for (const MissingRun& run : outcome.missing) {
      json["missing"].push_back({{"name", run.name}, {"reason", run.reason}});
    }
    return fmt::print("{}\n", json.dump());
  }
  fmt::print("{}\n", overview_of(results));
  fmt::print("{} runs done in {}; the study itself took {:.2f} s, {:.2f} % of its runs\n",
             outcome.done, as_time(outcome.seconds), outcome.own_seconds, own_part);
  fmt::print("tables   {}\nfigures  {}\nreport   {}\n", (arguments.out / "tables.md").string(),
             (arguments.out / "figure_*.svg").string(), (arguments.out / "report.html").string());
}

/// Writes tables, figures and report of what is done so far.
/// @return what they are made from
StudyResults write_results(const fs::path& out) {
  StudyResults results = read_results(out);
  if (results.runs.empty()) return results;
  write_tables(results, out);
  write_figures(results, out);
  write_report(results, out / "report.html");
  return results;
}

/// Runs that succeeded but whose files could not be read for the tables are missing too.
void add_missing(StudyOutcome& outcome, const StudyResults& results) {
  for (const MissingRun& run : results.missing) {
    if (std::ranges::find(outcome.missing, run.name, &MissingRun::name) == outcome.missing.end()) {
      outcome.missing.push_back(run);
    }
  }
}

[[noreturn]] void tell_missing(const StudyArguments& arguments, const StudyOutcome& outcome) {
  constexpr std::size_t Shown = 3;
  std::vector<std::string> shown;
  for (const MissingRun& run : outcome.missing) {
    if (shown.size() < Shown) shown.push_back(fmt::format("{}: {}", run.name, run.reason));
  }
  throw InvalidArgument(fmt::format(
      "{} runs have no result: {}{}; all reasons are in {}, what they printed is in {}; once the "
      "cause is fixed, make them again with --rerun failed (or damaged)",
      outcome.missing.size(), fmt::join(shown, "; "), outcome.missing.size() > Shown ? "; ..." : "",
      (arguments.out / "failed").string(), (arguments.out / "logs").string()));
}

}  // namespace

void run_study_command(std::span<const std::string> words) {
  StudyArguments arguments;
  if (!parse(words, arguments)) return;
  const StudyFolder folder(arguments.out);
  const int threads = threads_of_a_run(arguments, folder);
  const StudyPlan plan =
      read_plan_file(arguments.plan, {.threads = threads, .data_root = arguments.data_root});
  if (arguments.dry_run) return print_dry_run(plan, folder);
  arguments.settings.train_program = find_train_program();
  StudyReporter reporter(arguments.quiet);
  watch_for_stop();
  StudyOutcome outcome = run_study(plan, folder, arguments.settings, reporter);
  reporter.finish();
  const auto start = std::chrono::steady_clock::now();
  const StudyResults results = write_results(arguments.out);
  outcome.own_seconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (outcome.stopped) {
    throw Stopped("stopped, nothing is lost; continue with the same command");
  }
  add_missing(outcome, results);
  print_outcome(arguments, outcome, results);
  if (!outcome.missing.empty()) tell_missing(arguments, outcome);
}

}  // namespace rcap::cli
