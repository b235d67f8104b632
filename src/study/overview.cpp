#include "study/overview.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "study/run_groups.hpp"
#include "study/tables.hpp"

namespace rcap {
namespace {

constexpr std::size_t Columns = 8;
using Line = std::array<std::string, Columns>;

std::string percent_text(const RunGroup& group, double Evaluation::*accuracy) {
  const MeanAndDeviation found = over_runs(
      group.runs, [&](const Summary& summary) { return 100 * (summary.evaluation.*accuracy); });
  if (found.count == 1) return fmt::format("{:.1f}", found.mean);
  return fmt::format("{:.1f} ± {:.1f}", found.mean, found.deviation);
}

/// What the rate gives; without a rate, the mean over epochs and runs.
std::string samples_per_epoch(const RunGroup& group) {
  const Summary& first = group.runs.front()->summary;
  if (group.has_rate()) return fmt::format("{}", first.keep_count);
  const MeanAndDeviation seen = over_runs(group.runs, [](const Summary& summary) {
    return static_cast<double>(summary.samples_seen) / static_cast<double>(summary.epochs);
  });
  return fmt::format("{:.0f}", seen.mean);
}

Line line_of(const RunGroup& group, const RunGroup* full) {
  const double seconds = seconds_of(group.runs).mean;
  const std::optional<MeanSamples> samples = samples_of(group.runs);
  const auto text_of = [&](double MeanSamples::*part) {
    return samples_text(samples ? std::optional((*samples).*part) : std::nullopt);
  };
  return {group.method,
          samples_per_epoch(group),
          percent_text(group, &Evaluation::worst_group_accuracy),
          percent_text(group, &Evaluation::average_group_accuracy),
          text_of(&MeanSamples::trained),
          text_of(&MeanSamples::forward),
          fmt::format("{:.1f}", seconds),
          full == nullptr ? "" : fmt::format("{:.1f}", seconds_of(full->runs).mean / seconds)};
}

/// Characters that a terminal shows: continuation bytes of UTF-8 take no space.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::string space(width - width_of(text), ' ');
  return right ? space + text : text + space;
}

std::string aligned(const std::vector<Line>& lines) {
  std::array<std::size_t, Columns> widths{};
  for (const Line& line : lines) {
    for (std::size_t i = 0; i < Columns; ++i) widths[i] = std::max(widths[i], width_of(line[i]));
  }
  std::string text;
  for (std::size_t row = 0; row < lines.size(); ++row) {
    for (std::size_t i = 0; i < Columns; ++i) {
      text += fmt::format("| {} ", padded(lines[row][i], widths[i], i > 0));
    }
    text += "|\n";
    if (row > 0) continue;
    for (std::size_t i = 0; i < Columns; ++i) {
      text += fmt::format("| {} ", std::string(widths[i] - 1, '-') + (i > 0 ? ":" : "-"));
    }
    text += "|\n";
  }
  return text;
}

std::string block_of(const std::string& dataset, double rate, std::vector<RunGroup> groups) {
  const auto is_full = [](const RunGroup& group) { return group.runs.front()->is_full(); };
  std::erase_if(groups, [&](const RunGroup& group) {
    return group.has_rate() && group.pruning_rate != rate;
  });
  const auto full = std::ranges::find_if(groups, is_full);
  std::vector<Line> lines{{"method", "samples per epoch", "worst group, %", "average group, %",
                           "trained on", "forward only", "seconds", "times cheaper"}};
  for (const RunGroup& group : groups) {
    lines.push_back(line_of(group, full == groups.end() ? nullptr : &*full));
  }
  return fmt::format("{}, {}\n\n{}\n", dataset, pruned_text(rate), aligned(lines));
}

}  // namespace

std::string overview_of(const StudyResults& results) {
  std::string text;
  for (const std::string& dataset : results.datasets) {
    const std::vector<RunGroup> groups = plain_groups_of(results, dataset);
    for (const double rate : results.rates_of(dataset)) text += block_of(dataset, rate, groups);
    if (const std::string remarks = results.remarks_on(dataset); !remarks.empty()) {
      text += fmt::format("{}: {}\n\n", dataset, remarks);
    }
  }
  return text +
         fmt::format(
             "{}. Samples trained on and seconds include everything a run does, also its scoring "
             "run; samples of evaluations do not count.\n",
             seeds_text(results));
}

}  // namespace rcap
