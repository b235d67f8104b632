#include "cli/watch_panels.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "cli/text_plot.hpp"

namespace rcap::cli {
namespace {

constexpr int TwoPanelColumns = 72;  ///< from this width on, two panels are side by side
constexpr int LeastPanelRows = 5;    ///< a title, a plot of three rows, its axis
constexpr int LabelColumns = 7;

void write_x_axis(TextCanvas& canvas, const Area& area, const RunProgress& run) {
  const int row = area.row + area.rows - 1;
  canvas.write(row, area.column + LabelColumns + 1, "epoch 0", Ink::Faint);
  const std::size_t last = std::max<std::size_t>(run.planned_epochs(), 1) - 1;
  if (last > 0) {
    canvas.write_before(row, area.column + area.columns, std::to_string(last), Ink::Faint);
  }
}

/// The frame of curves over the epochs, below its title.
void draw_plot(TextCanvas& canvas, const Area& area, const RunProgress& run, Range y,
               const std::string& highest, const std::string& lowest,
               std::span<const Curve> curves) {
  const Area plot{.row = area.row + 1,
                  .column = area.column + LabelColumns + 1,
                  .rows = area.rows - 2,
                  .columns = area.columns - LabelColumns - 1};
  for (int row = 0; row < plot.rows; ++row) {
    canvas.put(plot.row + row, plot.column - 1, U'│', Ink::Faint);
  }
  canvas.write_before(plot.row, plot.column - 1, highest, Ink::Faint);
  canvas.write_before(plot.row + plot.rows - 1, plot.column - 1, lowest, Ink::Faint);
  const auto last = static_cast<double>(std::max<std::size_t>(run.planned_epochs(), 2) - 1);
  draw_curves(canvas, plot, {0, last}, y, curves);
  write_x_axis(canvas, area, run);
}

template <class ValueOf>
Curve curve_of(const RunProgress& run, Ink ink, const ValueOf& value_of) {
  Curve curve{.points = {}, .ink = ink};
  for (const EpochRecord& record : run.epochs) {
    curve.points.push_back({static_cast<double>(record.epoch), value_of(record)});
  }
  return curve;
}

Range range_of(const Curve& curve) {
  Range range{INFINITY, -INFINITY};
  for (const Point& point : curve.points) {
    if (!std::isfinite(point.y)) continue;
    range = {std::min(range.low, point.y), std::max(range.high, point.y)};
  }
  return range;
}

/// A panel of one curve, from its lowest to its highest value.
void draw_single(TextCanvas& canvas, const Area& area, const RunProgress& run,
                 const std::string& title, const Curve& curve, std::optional<double> lowest) {
  const int end = canvas.write(area.row, area.column, title, Ink::Strong);
  Range range = range_of(curve);
  if (range.low > range.high) return draw_plot(canvas, area, run, {}, "", "", {});
  if (lowest) range.low = *lowest;
  canvas.write(area.row, end + 2, fmt::format("{:.4g}", curve.points.back().y), curve.ink);
  draw_plot(canvas, area, run, range, fmt::format("{:.3g}", range.high),
            fmt::format("{:.3g}", range.low), std::span(&curve, 1));
}

void draw_loss(TextCanvas& canvas, const Area& area, const RunProgress& run) {
  draw_single(canvas, area, run, "train loss",
              curve_of(run, Ink::First, [](const EpochRecord& r) { return r.train_loss; }), {});
}

void draw_rate(TextCanvas& canvas, const Area& area, const RunProgress& run) {
  draw_single(canvas, area, run, "learning rate",
              curve_of(run, Ink::First, [](const EpochRecord& r) { return r.lr; }), 0.0);
}

const Evaluation* last_evaluation(const RunProgress& run) {
  const auto found = std::find_if(run.epochs.rbegin(), run.epochs.rend(),
                                  [](const EpochRecord& r) { return r.evaluation.has_value(); });
  return found == run.epochs.rend() ? nullptr : &*found->evaluation;
}

/// If there is room.
void write_adjusted(TextCanvas& canvas, const Area& area, int column, const Evaluation& last) {
  if (!last.prior_adjusted) return;
  const std::string text =
      fmt::format("prior-adjusted {}, {}", as_percent(last.prior_adjusted->average_group_accuracy),
                  as_percent(last.prior_adjusted->worst_group_accuracy));
  const int end = column + static_cast<int>(text.size());
  if (end <= area.column + area.columns) canvas.write(area.row, column, text, Ink::Faint);
}

void draw_accuracy(TextCanvas& canvas, const Area& area, const RunProgress& run) {
  int end = canvas.write(area.row, area.column, "accuracy", Ink::Strong) + 2;
  if (const Evaluation* last = last_evaluation(run)) {
    end = canvas.write(area.row, end, "average " + as_percent(last->average_group_accuracy),
                       Ink::First);
    end = canvas.write(area.row, end + 2, "worst " + as_percent(last->worst_group_accuracy),
                       Ink::Second);
    write_adjusted(canvas, area, end + 2, *last);
  } else {
    canvas.write(area.row, end, "not evaluated yet", Ink::Faint);
  }
  const auto curve = [&](Ink ink, double Evaluation::*value) {
    return curve_of(run, ink, [value](const EpochRecord& record) {
      return record.evaluation ? *record.evaluation.*value : NAN;
    });
  };
  const Curve curves[] = {curve(Ink::First, &Evaluation::average_group_accuracy),
                          curve(Ink::Second, &Evaluation::worst_group_accuracy)};
  draw_plot(canvas, area, run, {0, 1}, "100 %", "0 %", curves);
}

std::string name_of_class(const RunProgress& run, std::size_t number, std::size_t class_count) {
  const bool is_named = run.summary && run.summary->group_names.size() == class_count;
  return is_named ? run.summary->group_names[number] : std::to_string(number);
}

/// What the bars show: all classes in their order, or those with the largest and with the smallest
/// shares.
struct ShownClasses {
  std::vector<std::size_t> numbers;
  std::size_t left_out = 0;
  std::size_t left_out_before = 0;  ///< where the row that says so goes
};

ShownClasses choose_classes(const std::vector<std::int64_t>& counts, std::size_t rows) {
  ShownClasses shown;
  shown.numbers.resize(counts.size());
  std::iota(shown.numbers.begin(), shown.numbers.end(), std::size_t{0});
  if (counts.size() <= rows) return shown;
  std::ranges::stable_sort(shown.numbers, std::greater{}, [&](std::size_t j) { return counts[j]; });
  const std::size_t kept = rows - 1;
  shown.left_out = counts.size() - kept;
  shown.left_out_before = (kept + 1) / 2;
  const auto first = shown.numbers.begin() + static_cast<std::ptrdiff_t>(shown.left_out_before);
  shown.numbers.erase(first, first + static_cast<std::ptrdiff_t>(shown.left_out));
  return shown;
}

/// Where the parts of a row of bars are.
struct BarLayout {
  int name = 0;
  int name_columns = 0;
  int bar = 0;
  int bar_columns = 0;
  int share_end = 0;
  int loss_end = 0;
};

BarLayout columns_of_bars(const Area& area, std::size_t longest_name) {
  constexpr int ShareColumns = 8, LossColumns = 8, MostNameColumns = 14;
  BarLayout columns;
  columns.name = area.column;
  columns.name_columns =
      std::min({static_cast<int>(longest_name), MostNameColumns, area.columns / 3});
  columns.bar = columns.name + columns.name_columns + 1;
  columns.loss_end = area.column + area.columns;
  columns.share_end = columns.loss_end - LossColumns;
  columns.bar_columns = columns.share_end - ShareColumns - columns.bar;
  return columns;
}

void draw_share(TextCanvas& canvas, int row, const BarLayout& columns, const EpochRecord& record,
                std::size_t number, const std::string& name) {
  const auto count = static_cast<double>(record.class_counts[number]);
  const auto largest = static_cast<double>(*std::ranges::max_element(record.class_counts));
  canvas.write(row, columns.name, shortened(name, columns.name_columns));
  draw_bar(canvas, row, columns.bar, columns.bar_columns, count / largest, Ink::First);
  canvas.write_before(row, columns.share_end,
                      as_percent(count / static_cast<double>(record.selected)));
  if (number < record.class_losses.size() && std::isfinite(record.class_losses[number])) {
    canvas.write_before(row, columns.loss_end, fmt::format("{:.3f}", record.class_losses[number]),
                        Ink::Faint);
  }
}

void draw_shares(TextCanvas& canvas, const Area& area, const RunProgress& run) {
  const std::string kind = run.word("group_by") == "group" ? "group" : "class";
  const int end = canvas.write(area.row, area.column, kind + " shares", Ink::Strong);
  if (run.epochs.empty()) return;
  const EpochRecord& record = run.epochs.back();
  const std::size_t class_count = record.class_counts.size();
  if (record.selected == 0 || class_count == 0) return;
  canvas.write(area.row, end, fmt::format(" in epoch {}", record.epoch), Ink::Strong);
  canvas.write_before(area.row, area.column + area.columns, "loss", Ink::Faint);

  const auto rows = static_cast<std::size_t>(area.rows - 1);
  const ShownClasses shown = choose_classes(record.class_counts, rows);
  std::size_t longest = 1;
  for (const std::size_t j : shown.numbers) {
    longest = std::max(longest, characters_of(name_of_class(run, j, class_count)).size());
  }
  const BarLayout columns = columns_of_bars(area, longest);
  int row = area.row + 1;
  for (std::size_t place = 0; place < shown.numbers.size(); ++place, ++row) {
    if (shown.left_out > 0 && place == shown.left_out_before) {
      canvas.write(row++, area.column, fmt::format("… {} more", shown.left_out), Ink::Faint);
    }
    const std::size_t j = shown.numbers[place];
    draw_share(canvas, row, columns, record, j, name_of_class(run, j, class_count));
  }
}

using DrawPanel = void (*)(TextCanvas&, const Area&, const RunProgress&);
constexpr DrawPanel Panels[] = {draw_loss, draw_accuracy, draw_shares, draw_rate};

/// Where the rows of panels begin, and where the last one ends. If there are two, the lower one
/// gets what the bars of the classes need, as far as the upper one can spare it.
std::vector<int> rows_of_panels(int rows, int down, std::size_t class_count) {
  constexpr int LeastAbove = 7;
  std::vector<int> begins;
  for (int i = 0; i <= down; ++i) begins.push_back(rows * i / std::max(down, 1));
  if (down == 2) {
    const int wanted = static_cast<int>(std::min<std::size_t>(class_count + 1, INT16_MAX));
    begins[1] = std::max(std::min(begins[1], rows - wanted), std::min(begins[1], LeastAbove));
  }
  return begins;
}

}  // namespace

std::string as_percent(double part) { return fmt::format("{:.1f} %", 100 * part); }

void draw_panels(TextCanvas& canvas, const Area& area, const RunProgress& run) {
  constexpr int Gap = 2;
  const int across = area.columns >= TwoPanelColumns ? 2 : 1;
  const int most_down = (static_cast<int>(std::size(Panels)) + across - 1) / across;
  const int down = std::clamp(area.rows / LeastPanelRows, 0, most_down);
  const int columns = (area.columns - (across - 1) * Gap) / across;
  const std::vector<int> begins = rows_of_panels(
      area.rows, down, run.epochs.empty() ? 0 : run.epochs.back().class_counts.size());
  for (int i = 0; i < across * down; ++i) {
    const auto row = static_cast<std::size_t>(i / across);
    Panels[i](canvas,
              {.row = area.row + begins[row],
               .column = area.column + i % across * (columns + Gap),
               .rows = begins[row + 1] - begins[row],
               .columns = columns},
              run);
  }
}

}  // namespace rcap::cli
