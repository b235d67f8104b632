// Figures with an accuracy on y: against beta, against cost, over the samples seen.

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "rcap/core/run_cost.hpp"
#include "study/figures.hpp"
#include "study/pareto_front.hpp"
#include "study/run_groups.hpp"
#include "study/tables.hpp"

namespace rcap {
namespace {

using chart::Chart;
using chart::Join;
using chart::Panel;
using chart::Section;
using chart::Series;

/// An accuracy that a figure shows.
struct Accuracy {
  const char* title;
  double Evaluation::*value;
};
constexpr Accuracy ShownAccuracies[] = {
    {"Worst group accuracy, %", &Evaluation::worst_group_accuracy},
    {"Average group accuracy, %", &Evaluation::average_group_accuracy},
};
constexpr std::size_t FewLines = 6;  // more of them are drawn thin
constexpr const char* NearestBeta =
    "If a method was run at several betas, the one nearest to 1 is shown.";

/// A point at the mean, with its deviation, in percent.
chart::Point accuracy_point(double x, const MeanAndDeviation& found) {
  return {.x = x,
          .y = 100 * found.mean,
          .low = 100 * (found.mean - found.deviation),
          .high = 100 * (found.mean + found.deviation)};
}

/// At the end of the runs of a group.
chart::Point accuracy_point(double x, const RunGroup& group, const Accuracy& accuracy) {
  return accuracy_point(x, over_runs(group.runs, [&](const Summary& summary) {
                          return summary.evaluation.*accuracy.value;
                        }));
}

/// A panel of accuracies without series.
Panel accuracy_panel(const Accuracy& accuracy, const char* x_title) {
  return {.title = accuracy.title,
          .x = {.title = x_title, .scale = chart::Scale::Log},
          .y = {.least = 0, .most = 100},
          .series = {}};
}

bool has_several_betas(const StudyResults& results) {
  return std::ranges::any_of(results.datasets, [&](const std::string& dataset) {
    return plain_groups_of(results, dataset).size() < groups_of(results, dataset).size();
  });
}

/// " NAME: Accuracies are of ..." for each data set that needs it.
std::string remarks_of(const StudyResults& results) {
  std::string text;
  for (const std::string& dataset : results.datasets) {
    const std::string remarks = results.remarks_on(dataset);
    if (!remarks.empty()) text += fmt::format(" {}: {}", dataset, remarks);
  }
  return text;
}

/// Returns nothing for a figure without panels; otherwise adds the legend of the methods shown.
std::optional<std::string> finished(Chart chart, const StudyResults& results,
                                    const std::set<std::string>& shown) {
  if (chart.sections.empty()) return std::nullopt;
  auto legend = method_legend(results, shown);
  chart.legend.insert(chart.legend.begin(), legend.begin(), legend.end());
  if (has_several_betas(results)) chart.note += fmt::format(" {}", NearestBeta);
  chart.note += remarks_of(results);
  return draw_chart(chart);
}

// ---- against beta -------------------------------------------------------------------------

/// What one line of the figure is: a method at a rate.
using BetaLine = std::pair<std::string, double>;
using BetaLines = std::map<BetaLine, std::vector<RunGroup>>;

BetaLines beta_lines(const StudyResults& results, const std::string& dataset) {
  BetaLines lines;
  for (RunGroup& group : groups_of(results, dataset)) {
    if (!group.beta) continue;
    lines[{group.method, group.pruning_rate}].push_back(std::move(group));
  }
  std::erase_if(lines, [](const auto& line) { return line.second.size() < 2; });
  return lines;
}

std::vector<BetaLine> all_beta_lines(const StudyResults& results) {
  std::set<BetaLine> keys;
  for (const std::string& dataset : results.datasets) {
    for (const auto& [key, groups] : beta_lines(results, dataset)) keys.insert(key);
  }
  return {keys.begin(), keys.end()};
}

chart::Look look_of(const std::vector<BetaLine>& lines, const BetaLine& line) {
  return static_cast<chart::Look>(std::ranges::find(lines, line) - lines.begin());
}

Panel beta_panel(const BetaLines& lines, const std::vector<BetaLine>& all,
                 const Accuracy& accuracy) {
  Panel panel = accuracy_panel(accuracy, "beta");
  std::set<double> betas;
  for (const auto& [key, groups] : lines) {
    Series series{.look = look_of(all, key), .spread = chart::SpreadMarks::Bars};
    for (const RunGroup& group : groups) {
      series.points.push_back(accuracy_point(*group.beta, group, accuracy));
      betas.insert(*group.beta);
    }
    panel.series.push_back(std::move(series));
  }
  panel.x.ticks.assign(betas.begin(), betas.end());
  return panel;
}

std::vector<chart::LegendEntry> beta_legend(const std::vector<BetaLine>& lines) {
  const bool one_method = lines.front().first == lines.back().first;
  std::vector<chart::LegendEntry> legend;
  for (const BetaLine& line : lines) {
    const std::string rate = pruned_text(line.second);
    legend.push_back(
        {one_method ? rate : chart::shortened(line.first, 20) + ", " + rate, look_of(lines, line)});
  }
  return legend;
}

// ---- against cost -------------------------------------------------------------------------

constexpr double LargestRadius = 9;
constexpr double SmallestRadius = 4;

/// The area of a marker grows with the data kept.
double radius_of(const RunGroup& group) {
  const Summary& summary = group.runs.front()->summary;
  const double kept =
      static_cast<double>(summary.keep_count) / static_cast<double>(summary.n_train);
  return std::clamp(LargestRadius * std::sqrt(kept), SmallestRadius, LargestRadius);
}

/// What a run costs, in one of its measures.
struct Cost {
  const char* title;
  const char* description;
  const char* x_title;
  const char* note;
  std::optional<double> (*of)(const Runs& runs);  ///< empty if it is not known
  std::string (*text)(double cost);
};

const Cost InSeconds{
    .title = "Accuracy against cost",
    .description =
        "Worst and average group accuracy of every method and pruning rate against the seconds of "
        "a run, including its scoring run; the Pareto front of all of them is a stepped line.",
    .x_title = "seconds, scoring included",
    .note = "",
    .of = [](const Runs& runs) { return std::optional(seconds_of(runs).mean); },
    .text = [](double cost) { return fmt::format("{:.1f} s", cost); }};

std::optional<double> samples_cost(const Runs& runs) {
  const std::optional<MeanSamples> samples = samples_of(runs);
  if (!samples) return std::nullopt;
  return samples->trained + ForwardPart * samples->forward;
}

const Cost InSamples{
    .title = "Accuracy against samples",
    .description =
        "Worst and average group accuracy of every method and pruning rate against the samples "
        "that a run takes, including its scoring run; a sample that goes forward only counts as a "
        "third of one that is trained on. The Pareto front of all of them is a stepped line.",
    .x_title = "samples, scoring included",
    .note = " A sample that goes forward only counts as a third; evaluations do not count.",
    .of = samples_cost,
    .text = [](double cost) { return fmt::format("{} samples", samples_text(cost)); }};

chart::Point cost_point(const RunGroup& group, const Accuracy& accuracy, const Cost& measure) {
  const double cost = *measure.of(group.runs);
  chart::Point point = accuracy_point(cost, group, accuracy);
  point.radius = radius_of(group);
  const std::string rate = group.has_rate() ? ", " + pruned_text(group.pruning_rate) : "";
  point.note = fmt::format("{}{}: {:.1f} %, {}", group.method, rate, point.y, measure.text(cost));
  return point;
}

Series front_through(const std::vector<chart::Point>& points) {
  std::vector<CostAndValue> values;
  for (const chart::Point& point : points) values.push_back({point.x, point.y});
  Series front{.look = chart::FrontLook, .join = Join::Steps, .markers = false};
  for (const std::size_t i : pareto_front(values)) front.points.push_back(points[i]);
  return front;
}

Panel cost_panel(const StudyResults& results, const std::vector<RunGroup>& groups,
                 const Accuracy& accuracy, const Cost& measure) {
  Panel panel = accuracy_panel(accuracy, measure.x_title);
  std::map<std::string, Series> by_method;
  std::vector<chart::Point> points;
  for (const RunGroup& group : groups) {
    points.push_back(cost_point(group, accuracy, measure));
    Series& series = by_method[group.method];
    series.points.push_back(points.back());
    series.look = look_of(results, group.method);
    series.thin = true;
    series.spread = chart::SpreadMarks::Bars;
  }
  for (auto& [method, series] : by_method) panel.series.push_back(std::move(series));
  draw_reference_last(panel);
  panel.series.insert(panel.series.begin(), front_through(points));
  return panel;
}

std::optional<std::string> figure_against(const Cost& measure, const StudyResults& results) {
  Chart chart;
  chart.title = measure.title;
  chart.description = measure.description;
  std::set<std::string> shown;
  for (const std::string& dataset : results.datasets) {
    std::vector<RunGroup> groups = plain_groups_of(results, dataset);
    std::erase_if(groups, [&](const RunGroup& group) { return !measure.of(group.runs); });
    if (groups.size() < 2) continue;
    for (const RunGroup& group : groups) shown.insert(group.method);
    Section section{.heading = dataset, .plot_height = 250};
    for (const Accuracy& accuracy : ShownAccuracies) {
      section.panels.push_back(cost_panel(results, groups, accuracy, measure));
    }
    chart.sections.push_back(std::move(section));
  }
  chart.legend = {{.name = "Pareto front", .look = chart::FrontLook, .marker = false}};
  chart.note = fmt::format(
      "The larger a marker, the more data an epoch keeps. Bars: deviation over seeds.{}",
      measure.note);
  return finished(std::move(chart), results, shown);
}

// ---- over the samples seen ----------------------------------------------------------------

/// Means over the seeds of one method, at every epoch that all of them evaluated.
Series curve_of(const RunGroup& group, chart::Look look, const Accuracy& accuracy) {
  Series series{.look = look, .spread = chart::SpreadMarks::Band};
  const std::size_t run_count = group.runs.size();
  std::vector<double> seen(run_count, 0);
  for (std::size_t epoch = 0; epoch < group.runs.front()->epochs.size(); ++epoch) {
    std::vector<double> accuracies;
    for (std::size_t i = 0; i < run_count; ++i) {
      const std::vector<EpochRecord>& epochs = group.runs[i]->epochs;
      if (epoch >= epochs.size()) continue;
      seen[i] += static_cast<double>(epochs[epoch].selected);
      if (epochs[epoch].evaluation)
        accuracies.push_back((*epochs[epoch].evaluation).*accuracy.value);
    }
    if (accuracies.size() < run_count) continue;
    const double mean_seen = mean_and_deviation_of(seen).mean;
    series.points.push_back(accuracy_point(mean_seen, mean_and_deviation_of(accuracies)));
    series.points.back().note = fmt::format("{}: {:.1f} %, {:.0f} samples", group.method,
                                            series.points.back().y, mean_seen);
  }
  return series;
}

Panel curve_panel(const StudyResults& results, const std::vector<RunGroup>& groups,
                  const Accuracy& accuracy) {
  Panel panel = accuracy_panel(accuracy, "samples trained on");
  for (const RunGroup& group : groups) {
    panel.series.push_back(curve_of(group, look_of(results, group.method), accuracy));
    panel.series.back().thin = groups.size() > FewLines;
  }
  draw_reference_last(panel);
  return panel;
}

bool has_curve(const Panel& panel) {
  return std::ranges::any_of(panel.series,
                             [](const Series& series) { return series.points.size() > 1; });
}

}  // namespace

std::optional<std::string> beta_figure(const StudyResults& results) {
  const std::vector<BetaLine> all = all_beta_lines(results);
  if (all.empty()) return std::nullopt;
  Chart chart;
  chart.title = "Accuracy against beta";
  chart.description =
      "Worst and average group accuracy of RCAP against its temperature beta, one line per pruning "
      "rate; mean and population deviation over seeds.";
  for (const std::string& dataset : results.datasets) {
    const BetaLines lines = beta_lines(results, dataset);
    if (lines.empty()) continue;
    Section section{.heading = dataset};
    for (const Accuracy& accuracy : ShownAccuracies) {
      section.panels.push_back(beta_panel(lines, all, accuracy));
    }
    chart.sections.push_back(std::move(section));
  }
  chart.legend = beta_legend(all);
  chart.note = "Bars: deviation over seeds." + remarks_of(results);
  return draw_chart(chart);
}

std::optional<std::string> cost_figure(const StudyResults& results) {
  return figure_against(InSeconds, results);
}

std::optional<std::string> sample_cost_figure(const StudyResults& results) {
  return figure_against(InSamples, results);
}

std::optional<std::string> curve_figure(const StudyResults& results) {
  Chart chart;
  chart.title = "Learning curves";
  chart.description =
      "Worst and average group accuracy over the samples trained on, for every method at the "
      "highest pruning rate; mean and population deviation over seeds.";
  std::set<std::string> shown;
  for (const std::string& dataset : results.datasets) {
    const std::vector<RunGroup> groups = highest_rate_groups_of(results, dataset);
    Section section{.heading = heading_of(results, dataset), .plot_height = 270};
    for (const Accuracy& accuracy : ShownAccuracies) {
      section.panels.push_back(curve_panel(results, groups, accuracy));
    }
    if (!has_curve(section.panels.front())) continue;
    for (const RunGroup& group : groups) shown.insert(group.method);
    chart.sections.push_back(std::move(section));
  }
  chart.note = "Bands: deviation over seeds.";
  return finished(std::move(chart), results, shown);
}

}  // namespace rcap
