#include "study/svg_chart.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "study/svg_panel.hpp"

namespace rcap::chart {
namespace {

constexpr double Width = 700;
constexpr double Margin = 16;
constexpr double Inner = Width - 2 * Margin;
constexpr double LineHeight = 25;
constexpr double ColumnGap = 22;
constexpr double TitleHeight = 27;  // of a panel, above its frame
constexpr double AxisHeight = 54;   // labels and title of x, below it
constexpr double SwatchWidth = 44;
constexpr double RightRoom = 8;  // since half of a label may extend over the edge

/// Writes from top to bottom.
class Page {
 public:
  void add_text(std::string_view kind, std::string_view text) {
    top_ += LineHeight;
    svg_ += draw_text(Margin, top_ - 6, fmt::format(" class=\"{}\"", kind), text);
  }
  void add_space(double height) { top_ += height; }
  void add_section(const Section& section);
  void add_legend(const std::vector<LegendEntry>& legend);
  void add_note(std::string_view note);

  [[nodiscard]] const std::string& svg() const { return svg_; }
  [[nodiscard]] double height() const { return top_ + Margin; }

 private:
  std::string svg_;
  double top_ = Margin - 6;
};

double label_width(const Panel& panel, const PanelRanges& ranges, double height) {
  double width = 0;
  for (const double tick : y_ticks(panel, ranges.y, height)) {
    width = std::max(width, text_width(tick_label(tick)));
  }
  return width + 8;
}

/// A panel that can be drawn.
struct Drawable {
  const Panel* panel;
  PanelRanges ranges;
};

std::vector<Drawable> drawable(const Section& section) {
  std::vector<Drawable> found;
  for (const Panel& panel : section.panels) {
    if (const auto ranges = ranges_of(panel)) found.push_back({&panel, *ranges});
  }
  if (!section.same_y || found.empty()) return found;
  Range common = found.front().ranges.y;
  for (const Drawable& item : found) {
    common.low = std::min(common.low, item.ranges.y.low);
    common.high = std::max(common.high, item.ranges.y.high);
  }
  for (Drawable& item : found) item.ranges.y = common;
  return found;
}

void Page::add_section(const Section& section) {
  const std::vector<Drawable> panels = drawable(section);
  if (panels.empty()) return;
  if (!section.heading.empty()) add_text("head", shortened(section.heading, 58));
  double gutter = 0;
  for (const Drawable& item : panels) {
    gutter = std::max(gutter, label_width(*item.panel, item.ranges, section.plot_height));
  }
  const auto columns = static_cast<double>(section.columns);
  const double cell = (Inner - (columns - 1) * ColumnGap) / columns;
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const std::size_t column = i % section.columns;
    const double left = Margin + static_cast<double>(column) * (cell + ColumnGap);
    const Box plot{left + gutter, top_ + TitleHeight, cell - gutter - RightRoom,
                   section.plot_height};
    svg_ += draw_panel(*panels[i].panel, panels[i].ranges, plot);
    const bool row_ends = column + 1 == section.columns || i + 1 == panels.size();
    if (row_ends) top_ += TitleHeight + section.plot_height + AxisHeight;
  }
  add_legend(section.legend);
  add_space(8);
}

void Page::add_legend(const std::vector<LegendEntry>& legend) {
  double widest = 0;
  for (const LegendEntry& entry : legend) widest = std::max(widest, text_width(entry.name));
  const double cell = SwatchWidth + 8 + widest + 14;
  const auto columns = std::max<std::size_t>(1, static_cast<std::size_t>((Inner + 14) / cell));
  const std::size_t rows = (legend.size() + columns - 1) / columns;
  for (std::size_t i = 0; i < legend.size(); ++i) {
    const LegendEntry& entry = legend[i];
    const double x = Margin + static_cast<double>(i / rows) * cell;
    const double y = top_ + (static_cast<double>(i % rows) + 0.5) * LineHeight;
    svg_ += fmt::format("<g class=\"{}\">", colour_class(entry.look));
    if (entry.line) {
      svg_ += fmt::format("<path class=\"line\"{} d=\"M{:.1f} {:.1f}h{:.1f}\"/>",
                          dash_of(entry.look), x, y, SwatchWidth);
    }
    if (entry.marker) svg_ += marker(entry.look, x + SwatchWidth / 2, y, 5.5);
    svg_ += "</g>" + draw_text(x + SwatchWidth + 8, y + 6, "", entry.name);
  }
  top_ += static_cast<double>(rows) * LineHeight;
}

void Page::add_note(std::string_view note) {
  if (note.empty()) return;
  add_space(6);
  std::string line;
  while (!note.empty()) {
    const std::size_t end = std::min(note.find(' '), note.size());
    const std::string_view word = note.substr(0, end);
    if (!line.empty() && text_width(fmt::format("{} {}", line, word), 17) > Inner) {
      add_text("small soft", line);
      line.clear();
    }
    line += line.empty() ? std::string(word) : fmt::format(" {}", word);
    note.remove_prefix(std::min(end + 1, note.size()));
  }
  add_text("small soft", line);
}

}  // namespace

std::string draw_chart(const Chart& chart) {
  Page page;
  page.add_text("title", chart.title);
  page.add_space(8);
  for (const Section& section : chart.sections) page.add_section(section);
  page.add_legend(chart.legend);
  page.add_note(chart.note);
  const double height = std::ceil(page.height());
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" role=\"img\">\n<title>{2}</title>\n<desc>{3}</desc>\n{4}"
      "<rect class=\"page\" width=\"{0}\" height=\"{1}\" rx=\"8\"/>\n{5}</svg>\n",
      Width, height, escaped(chart.title), escaped(chart.description), style_sheet(), page.svg());
}

}  // namespace rcap::chart
