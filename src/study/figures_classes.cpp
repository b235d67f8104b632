// Figures of what each class gets: its fraction of the epochs, its samples against size and loss.

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "study/figures.hpp"
#include "study/run_groups.hpp"
#include "study/tables.hpp"

namespace rcap {
namespace {

using chart::Chart;
using chart::Join;
using chart::Panel;
using chart::Section;
using chart::Series;

using Classes = std::vector<std::size_t>;

constexpr std::size_t ShownAtEachEnd = 3;
constexpr std::size_t MostFaintClasses = 40;  // more would only blacken the panel
constexpr std::size_t MostPoints = 100;       // a panel of 200 pixels shows no more
constexpr std::size_t MostClassGroups = 12;
constexpr double PlaceOfNothing = 0.5;  // of 0 samples on a logarithmic axis

std::size_t class_count_of(const RunResult& run) { return run.summary.train_class_sizes.size(); }

/// Whether all records have the same classes, and there is one after the first.
bool has_class_records(const RunResult& run) {
  return run.epochs.size() > 1 && class_count_of(run) > 0 &&
         run.summary.group_names.size() == class_count_of(run) &&
         std::ranges::all_of(run.epochs, [&](const EpochRecord& record) {
           return record.class_counts.size() == class_count_of(run) &&
                  record.class_losses.size() == class_count_of(run);
         });
}

/// The mean of `value` over the epochs after the first; NaN if it is never finite.
template <class Value>
double mean_after_first(const RunResult& run, Value value) {
  double sum = 0;
  double count = 0;
  for (std::size_t i = 1; i < run.epochs.size(); ++i) {
    const auto found = static_cast<double>(value(run.epochs[i]));
    if (!std::isfinite(found)) continue;
    sum += found;
    ++count;
  }
  return sum / count;
}

double mean_count(const RunResult& run, std::size_t j) {
  return mean_after_first(run, [&](const EpochRecord& record) { return record.class_counts[j]; });
}

double mean_loss(const RunResult& run, std::size_t j) {
  return mean_after_first(run, [&](const EpochRecord& record) { return record.class_losses[j]; });
}

/// From the largest to the smallest; equal sizes by their mean count in this run.
Classes by_size(const RunResult& run) {
  Classes classes(class_count_of(run));
  std::iota(classes.begin(), classes.end(), std::size_t{0});
  std::ranges::stable_sort(classes, std::greater{}, [&](std::size_t j) {
    return std::pair(run.summary.train_class_sizes[j], mean_count(run, j));
  });
  return classes;
}

/// Every k-th of the values, including the first and the last.
template <class Value>
std::vector<Value> thinned(const std::vector<Value>& values, std::size_t most) {
  if (values.size() <= most) return values;
  std::vector<Value> kept;
  for (std::size_t i = 0; i < most; ++i) {
    kept.push_back(values[i * (values.size() - 1) / (most - 1)]);
  }
  return kept;
}

// ---- fractions over epochs ----------------------------------------------------------------

/// The runs of the figure: every rule of RCAP, rs2, balanced; one seed for each.
Runs fraction_runs(const StudyResults& results, const std::string& dataset) {
  Runs runs;
  for (const RunGroup& group : highest_rate_groups_of(results, dataset)) {
    const RunResult* run = group.runs.front();
    const std::string& method = run->summary.method;
    const bool wanted = method == "rcap" || method == "rs2" || method == "balanced";
    if (wanted && has_class_records(*run)) runs.push_back(run);
  }
  if (runs.empty()) return runs;
  const std::vector<std::string>& names = runs.front()->summary.group_names;
  std::erase_if(runs, [&](const RunResult* run) { return run->summary.group_names != names; });
  return runs;
}

/// Which classes stand out, and which are drawn faint behind them.
struct ShownClasses {
  Classes faint;
  Classes strong;
};

ShownClasses shown_classes(const Classes& ordered) {
  if (ordered.size() <= 2 * ShownAtEachEnd) return {{}, ordered};
  ShownClasses shown;
  const auto ends = static_cast<std::ptrdiff_t>(ShownAtEachEnd);
  shown.strong.assign(ordered.begin(), ordered.begin() + ends);
  shown.strong.insert(shown.strong.end(), ordered.end() - ends, ordered.end());
  shown.faint = thinned(Classes(ordered.begin() + ends, ordered.end() - ends), MostFaintClasses);
  return shown;
}

Series fraction_series(const RunResult& run, std::size_t j, chart::Look look) {
  Series series{.look = look, .markers = look != chart::FaintLook};
  for (const EpochRecord& record : run.epochs) {
    const auto selected = static_cast<double>(std::max<std::int64_t>(record.selected, 1));
    series.points.push_back({.x = static_cast<double>(record.epoch),
                             .y = 100 * static_cast<double>(record.class_counts[j]) / selected,
                             .radius = 4.5});
  }
  series.points = thinned(series.points, MostPoints);
  return series;
}

Panel fraction_panel(const RunResult& run, const ShownClasses& shown) {
  Panel panel;
  panel.title = chart::shortened(run.method, 18);
  panel.x.title = "epoch";
  panel.y = {.scale = chart::Scale::Log, .most = 100};
  for (const std::size_t j : shown.faint) {
    panel.series.push_back(fraction_series(run, j, chart::FaintLook));
  }
  for (std::size_t i = 0; i < shown.strong.size(); ++i) {
    panel.series.push_back(fraction_series(run, shown.strong[i], i));
  }
  return panel;
}

std::vector<chart::LegendEntry> class_legend(const RunResult& run, const ShownClasses& shown) {
  std::vector<chart::LegendEntry> legend;
  for (std::size_t i = 0; i < shown.strong.size(); ++i) {
    const std::size_t j = shown.strong[i];
    legend.push_back({fmt::format("{} ({})", chart::shortened(run.summary.group_names[j], 22),
                                  run.summary.train_class_sizes[j]),
                      i});
  }
  if (!shown.faint.empty()) {
    legend.push_back({.name = "other classes", .look = chart::FaintLook, .marker = false});
  }
  return legend;
}

Section fraction_section(const std::string& heading, const Runs& runs) {
  const RunResult& first = *runs.front();
  const ShownClasses shown = shown_classes(by_size(first));
  Section section{.heading = heading, .plot_height = 190, .same_y = true};
  section.columns = runs.size() == 1 || runs.size() == 2 || runs.size() == 4 ? 2 : 3;
  for (const RunResult* run : runs) section.panels.push_back(fraction_panel(*run, shown));
  section.legend = class_legend(first, shown);
  return section;
}

// ---- counts against size and loss ---------------------------------------------------------

/// The numbers of a class, or the means of several.
struct ClassPoint {
  double size = 0;
  double count = 0;
  double loss = 0;
};

ClassPoint mean_of_classes(const RunResult& run, const Classes& classes, std::size_t begin,
                           std::size_t end) {
  ClassPoint mean;
  std::vector<double> losses;
  const auto part = 1 / static_cast<double>(end - begin);
  for (std::size_t i = begin; i < end; ++i) {
    mean.size += part * static_cast<double>(run.summary.train_class_sizes[classes[i]]);
    mean.count += part * mean_count(run, classes[i]);
    const double loss = mean_loss(run, classes[i]);
    if (std::isfinite(loss)) losses.push_back(loss);
  }
  mean.loss = losses.empty() ? std::nan("") : mean_and_deviation_of(losses).mean;
  return mean;
}

/// One point per class, or per group of classes of similar size if there are many.
std::vector<ClassPoint> class_points(const RunResult& run) {
  const Classes classes = by_size(run);
  const std::size_t groups = std::min(classes.size(), MostClassGroups);
  std::vector<ClassPoint> points;
  for (std::size_t i = 0; i < groups; ++i) {
    points.push_back(mean_of_classes(run, classes, i * classes.size() / groups,
                                     (i + 1) * classes.size() / groups));
  }
  return points;
}

/// A series for each method: what `point_of` makes of its classes.
template <class PointOf>
Panel class_panel(const std::vector<RunGroup>& groups, const StudyResults& results, Join join,
                  PointOf point_of) {
  Panel panel;
  panel.x.scale = chart::Scale::Log;
  panel.y.scale = chart::Scale::Log;
  for (const RunGroup& group : groups) {
    Series series{.look = look_of(results, group.method), .join = join, .thin = true};
    for (const ClassPoint& found : class_points(*group.runs.front())) {
      series.points.push_back(point_of(found));
      series.points.back().note = join == Join::None ? group.method : "";
    }
    panel.series.push_back(std::move(series));
  }
  draw_reference_last(panel);
  return panel;
}

Panel size_panel(const std::vector<RunGroup>& groups, const StudyResults& results) {
  Panel panel = class_panel(groups, results, Join::Straight, [](const ClassPoint& found) {
    return chart::Point{.x = found.size, .y = std::max(found.count, PlaceOfNothing)};
  });
  panel.title = "Samples per epoch";
  panel.x.title = "samples of the class";
  return panel;
}

/// Counts as a fraction of the class: its size would hide the effect of its loss.
Panel loss_panel(const std::vector<RunGroup>& groups, const StudyResults& results) {
  Panel panel = class_panel(groups, results, Join::None, [](const ClassPoint& found) {
    return chart::Point{.x = found.loss, .y = 100 * found.count / found.size, .radius = 4.5};
  });
  panel.title = "Fraction of the class, %";
  panel.x.title = "loss of the class";
  return panel;
}

/// Methods that select, at the highest rate, whose records have class counts.
std::vector<RunGroup> count_groups(const StudyResults& results, const std::string& dataset) {
  std::vector<RunGroup> groups = highest_rate_groups_of(results, dataset);
  std::erase_if(groups, [](const RunGroup& group) {
    const RunResult& run = *group.runs.front();
    return run.is_full() || !has_class_records(run);
  });
  return groups;
}

/// Whether a class, or a group of classes, has fewer samples than can be drawn.
bool has_next_to_nothing(const RunGroup& group) {
  return std::ranges::any_of(class_points(*group.runs.front()),
                             [](const ClassPoint& point) { return point.count < PlaceOfNothing; });
}

bool has_equal_sizes(const RunResult& run) {
  const auto [low, high] = std::ranges::minmax(run.summary.train_class_sizes);
  return low == high;
}

}  // namespace

std::optional<std::string> class_fraction_figure(const StudyResults& results) {
  Chart chart;
  chart.title = "Fraction of each epoch by class, %";
  chart.description =
      "How the samples of an epoch divide over the classes, epoch by epoch, for the class-share "
      "rules of RCAP and for other methods; the largest and the smallest classes stand out.";
  for (const std::string& dataset : results.datasets) {
    const auto runs = fraction_runs(results, dataset);
    if (runs.empty()) continue;
    chart.sections.push_back(fraction_section(heading_of(results, dataset), runs));
  }
  if (chart.sections.empty()) return std::nullopt;
  chart.note = "One seed; in parentheses, the training samples of the class.";
  return draw_chart(chart);
}

std::optional<std::string> class_count_figure(const StudyResults& results) {
  Chart chart;
  chart.title = "Samples of each class in an epoch";
  chart.description =
      "How many samples of each class an epoch trains on, against the size of the class, and as a "
      "fraction of the class against the mean loss of the samples; every method, highest rate.";
  chart.note = "Mean over the epochs after the first, one seed.";
  std::set<std::string> shown;
  bool grouped = false;
  bool raised = false;
  for (const std::string& dataset : results.datasets) {
    const std::vector<RunGroup> groups = count_groups(results, dataset);
    if (groups.empty()) continue;
    const RunResult& first = *groups.front().runs.front();
    Section section{.heading = heading_of(results, dataset), .plot_height = 270};
    // Classes of equal size would all be in one column.
    if (!has_equal_sizes(first)) section.panels.push_back(size_panel(groups, results));
    section.panels.push_back(loss_panel(groups, results));
    section.columns = section.panels.size();
    for (const RunGroup& group : groups) shown.insert(group.method);
    grouped = grouped || class_count_of(first) > MostClassGroups;
    raised = raised || std::ranges::any_of(groups, has_next_to_nothing);
    chart.sections.push_back(std::move(section));
  }
  if (chart.sections.empty()) return std::nullopt;
  chart.legend = method_legend(results, shown);
  if (raised) chart.note += " Less than half a sample is drawn as 0.5.";
  if (grouped) chart.note += " Many classes are averaged in groups of similar size.";
  return draw_chart(chart);
}

}  // namespace rcap
