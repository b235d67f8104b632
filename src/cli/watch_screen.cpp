#include "cli/watch_screen.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "cli/progress_bar.hpp"
#include "cli/text_canvas.hpp"
#include "cli/watch_panels.hpp"
#include "train/run_folder.hpp"

namespace rcap::cli {
namespace {

constexpr int HeadRows = 2;
constexpr std::size_t LeastEpochsForRate = 5;

// ---- the head

/// What is trained, and how; written after the folder.
std::string describe(const RunProgress& run) {
  if (run.options.empty()) return "";
  std::string text = "  " + run.word("method");
  if (run.makes_scores()) {
    text = "  scores for " + run.word("make_scores");
  } else if (run.word("method") != "full") {
    text += ", pruning rate " + run.word("pruning_rate");
  }
  return text +
         fmt::format("  {}, {}, seed {}", run.word("dataset"), run.word("model"), run.word("seed"));
}

/// If the name of a folder is too long, its end is shown, which distinguishes runs.
std::string title_of(const RunProgress& run, int columns) {
  constexpr int LeastOfFolder = 20;
  const std::string what = describe(run);
  const int room = columns - static_cast<int>(characters_of(what).size());
  return end_of(run.folder.string(), std::max(room, LeastOfFolder)) + what;
}

double trained_seconds(const RunProgress& run) {
  return std::accumulate(
      run.epochs.begin(), run.epochs.end(), 0.0,
      [](double sum, const EpochRecord& record) { return sum + record.seconds.total(); });
}

void draw_bar_of_epochs(TextCanvas& canvas, int row, int column, int columns, double part) {
  const int filled = static_cast<int>(std::lround(part * columns));
  for (int i = 0; i < columns; ++i) {
    canvas.put(row, column + i, i < filled ? U'━' : U'╌', i < filled ? Ink::Good : Ink::Faint);
  }
}

void draw_running(TextCanvas& canvas, int row, const RunProgress& run) {
  if (run.epochs.empty()) {
    const char* why = run.makes_scores() ? "; a scoring run shows nothing before it ends"
                                         : ", no epoch is done yet";
    canvas.write(row, 0, fmt::format("running for {}{}", as_time(run.quiet_seconds), why));
    return;
  }
  const std::size_t done = run.epochs.size(), all = run.planned_epochs();
  const std::string left = as_time(seconds_left(run).value_or(0));
  const std::string times = fmt::format("{} gone, about {} left",
                                        as_time(trained_seconds(run) + run.quiet_seconds), left);
  const int first = canvas.write(row, 0, fmt::format("{} of {} epochs", done, all)) + 1;
  const int columns = canvas.columns() - first - static_cast<int>(times.size()) - 1;
  if (columns < 1) {
    canvas.write(row, first, left + " left");
    return;
  }
  draw_bar_of_epochs(canvas, row, first, columns, part_of(done, all));
  canvas.write(row, first + columns + 1, times);
}

void draw_state(TextCanvas& canvas, int row, const RunProgress& run) {
  const std::size_t done = run.epochs.size();
  if (run.state == RunState::Running) return draw_running(canvas, row, run);
  if (run.state == RunState::Finished) {
    const std::string what = run.summary
                                 ? fmt::format("{} epoch{} in {}", done, done == 1 ? "" : "s",
                                               as_time(run.summary->seconds.total()))
                                 : "the scores are written";
    canvas.write(row, 0, "finished: " + what, Ink::Good);
    return;
  }
  canvas.write(
      row, 0,
      fmt::format("stopped without a result after {} of {} epochs", done, run.planned_epochs()),
      Ink::Bad);
}

// ---- the last line

std::string result_of(const Summary& summary) {
  const Evaluation& found = summary.evaluation;
  const auto worst = std::ranges::find(found.group_accuracy, found.worst_group_accuracy);
  const auto number = static_cast<std::size_t>(worst - found.group_accuracy.begin());
  const std::string name =
      number < summary.group_names.size() ? fmt::format(" ({})", summary.group_names[number]) : "";
  std::string text =
      fmt::format("accuracy {}, average {} {}, worst {} {}{}", as_percent(found.accuracy),
                  summary.group_by, as_percent(found.average_group_accuracy), summary.group_by,
                  as_percent(found.worst_group_accuracy), name);
  if (const auto& adjusted = found.prior_adjusted) {
    text += fmt::format("; prior-adjusted {}, average {}, worst {}", as_percent(adjusted->accuracy),
                        as_percent(adjusted->average_group_accuracy),
                        as_percent(adjusted->worst_group_accuracy));
  }
  return text;
}

std::string last_line(const RunProgress& run, std::string_view hint) {
  if (run.summary) return result_of(*run.summary);
  if (run.state == RunState::Running) return std::string(hint);
  if (run.state == RunState::Finished) {
    return fmt::format("use them with: rcap train --scores {}",
                       (run.folder / run_files::Scores).string());
  }
  return fmt::format("resume with: rcap train --out {} --resume", run.folder.string());
}

}  // namespace

std::optional<double> seconds_left(const RunProgress& run) {
  if (run.state != RunState::Running || run.epochs.empty()) return std::nullopt;
  // Evaluations make some epochs longer, so one of those is included.
  const std::size_t count =
      std::min(run.epochs.size(), std::max(LeastEpochsForRate, run.count("evaluate_every")));
  double sum = 0;
  for (std::size_t i = run.epochs.size() - count; i < run.epochs.size(); ++i) {
    sum += run.epochs[i].seconds.total();
  }
  const auto epochs_left = static_cast<double>(run.planned_epochs() - run.epochs.size());
  return std::max(0.0, sum / static_cast<double>(count) * epochs_left - run.quiet_seconds);
}

std::vector<std::string> draw_run(const RunProgress& run, ScreenSize size, bool colours,
                                  std::string_view hint) {
  TextCanvas canvas(size.columns, size.rows);
  canvas.write(0, 0, shortened(title_of(run, size.columns), size.columns), Ink::Strong);
  draw_state(canvas, 1, run);
  const int last = size.rows - 1;
  if (last > HeadRows) {
    canvas.write(last, 0, shortened(last_line(run, hint), size.columns), Ink::Faint);
  }
  draw_panels(
      canvas,
      {.row = HeadRows + 1, .column = 0, .rows = last - HeadRows - 1, .columns = size.columns},
      run);
  return canvas.lines(colours);
}

}  // namespace rcap::cli
