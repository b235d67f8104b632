#include "study/svg_panel.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace rcap::chart {
namespace {

constexpr double TickRoom = 26;         // between two labels of the x axis
constexpr double TickHeight = 44;       // for one label of the y axis
constexpr std::size_t MostMarkers = 7;  // on a line
constexpr double LabelGap = 7;

/// Maps values to positions in the picture.
class Plane {
 public:
  Plane(const Panel& panel, const PanelRanges& ranges, const Box& box)
      : panel_(panel), ranges_(ranges), box_(box) {}

  [[nodiscard]] double x(double value) const {
    return box_.x + box_.width * place_of(panel_.x.scale, ranges_.x, value);
  }
  [[nodiscard]] double y(double value) const {
    return box_.y + box_.height * (1 - place_of(panel_.y.scale, ranges_.y, value));
  }
  /// As `y`, for the ends of bands: values outside are moved to the edge.
  [[nodiscard]] double y_inside(double value) const {
    return y(std::clamp(value, ranges_.y.low, ranges_.y.high));
  }
  [[nodiscard]] bool holds(const Point& point) const {
    return has_place(panel_.x.scale, point.x) && has_place(panel_.y.scale, point.y);
  }
  [[nodiscard]] const Box& box() const { return box_; }

 private:
  const Panel& panel_;
  const PanelRanges& ranges_;
  const Box& box_;
};

/// The requested ticks whose labels do not touch the one before.
std::vector<double> fitting_ticks(const Panel& panel, const Plane& plane) {
  std::vector<double> ticks;
  double free_from = plane.box().x - plane.box().width;
  for (const double tick : panel.x.ticks) {
    const double half = text_width(tick_label(tick)) / 2;
    if (plane.x(tick) - half < free_from) continue;
    ticks.push_back(tick);
    free_from = plane.x(tick) + half + TickRoom / 2;
  }
  return ticks;
}

std::vector<double> x_ticks(const Panel& panel, const Range& range, const Plane& plane) {
  if (!panel.x.ticks.empty()) return fitting_ticks(panel, plane);
  const double width = plane.box().width;
  for (std::size_t most = 7; most > 2; --most) {
    std::vector<double> ticks = ticks_of(panel.x.scale, range, most);
    double needed = 0;
    for (const double tick : ticks) needed += text_width(tick_label(tick)) + TickRoom;
    if (needed <= width) return ticks;
  }
  return ticks_of(panel.x.scale, range, 2);
}

std::string draw_axes(const Panel& panel, const PanelRanges& ranges, const Plane& plane) {
  const Box& box = plane.box();
  std::string svg;
  for (const double tick : y_ticks(panel, ranges.y, box.height)) {
    const double y = plane.y(tick);
    svg += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}h{:.1f}\"/>\n", box.x, y, box.width);
    svg += draw_text(box.x - LabelGap, y + 6, " class=\"small soft\" text-anchor=\"end\"",
                     tick_label(tick));
  }
  const double bottom = box.y + box.height;
  for (const double tick : x_ticks(panel, ranges.x, plane)) {
    const double x = plane.x(tick);
    svg +=
        fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}v{:.1f}\"/>\n", x, box.y, box.height);
    svg +=
        draw_text(x, bottom + 21, " class=\"small soft\" text-anchor=\"middle\"", tick_label(tick));
  }
  svg += fmt::format(
      "<rect class=\"frame\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
      box.x, box.y, box.width, box.height);
  if (panel.x.title.empty()) return svg;
  return svg +
         draw_text(box.x + box.width / 2, bottom + 44, " text-anchor=\"middle\"", panel.x.title);
}

std::string draw_line(const Series& series, const Plane& plane) {
  std::string path;
  bool pen_down = false;
  double last_y = 0;
  for (const Point& point : series.points) {
    if (!plane.holds(point)) {
      pen_down = false;
      continue;
    }
    const double x = plane.x(point.x);
    const double y = plane.y(point.y);
    if (pen_down && series.join == Join::Steps) path += fmt::format("L{:.1f} {:.1f}", x, last_y);
    path += fmt::format("{}{:.1f} {:.1f}", pen_down ? "L" : "M", x, y);
    pen_down = true;
    last_y = y;
  }
  return fmt::format("<path class=\"line{}\"{} d=\"{}\"/>\n", series.thin ? " thin" : "",
                     dash_of(series.look), path);
}

bool has_spread(const Point& point, const Plane& plane) {
  return plane.holds(point) && std::isfinite(point.low) && std::isfinite(point.high) &&
         point.low < point.high;
}

std::string draw_band(const Series& series, const Plane& plane) {
  std::string upper;
  std::string lower;
  for (const Point& point : series.points) {
    if (!has_spread(point, plane)) continue;
    const double x = plane.x(point.x);
    upper +=
        fmt::format("{}{:.1f} {:.1f}", upper.empty() ? "M" : "L", x, plane.y_inside(point.high));
    lower = fmt::format("L{:.1f} {:.1f}", x, plane.y_inside(point.low)) + lower;
  }
  if (upper.empty()) return "";
  return fmt::format("<path class=\"band\" d=\"{}{}Z\"/>\n", upper, lower);
}

std::string draw_bars(const Series& series, const Plane& plane) {
  std::string path;
  for (const Point& point : series.points) {
    if (!has_spread(point, plane)) continue;
    path += fmt::format("M{:.1f} {:.1f}V{:.1f}", plane.x(point.x), plane.y_inside(point.low),
                        plane.y_inside(point.high));
  }
  return path.empty() ? "" : fmt::format("<path class=\"bar\" d=\"{}\"/>\n", path);
}

std::string draw_markers(const Series& series, const Plane& plane) {
  const std::size_t every =
      series.join == Join::None ? 1 : (series.points.size() + MostMarkers - 1) / MostMarkers;
  std::string svg;
  // Counted from the end, so that the last point of a curve has a marker.
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    const Point& point = series.points[i];
    if ((series.points.size() - 1 - i) % every != 0 || !plane.holds(point)) continue;
    const std::string inner =
        point.note.empty() ? "" : fmt::format("<title>{}</title>", escaped(point.note));
    svg += marker(series.look, plane.x(point.x), plane.y(point.y), point.radius, inner);
  }
  return svg;
}

std::string draw_series(const Series& series, const Plane& plane) {
  std::string svg = fmt::format("<g class=\"{}\">\n", colour_class(series.look));
  if (series.spread == SpreadMarks::Band) svg += draw_band(series, plane);
  if (series.spread == SpreadMarks::Bars) svg += draw_bars(series, plane);
  if (series.join != Join::None) svg += draw_line(series, plane);
  if (series.markers) svg += draw_markers(series, plane);
  return svg + "</g>\n";
}

}  // namespace

std::optional<PanelRanges> ranges_of(const Panel& panel) {
  std::vector<double> xs;
  std::vector<double> ys;
  for (const Series& series : panel.series) {
    for (const Point& point : series.points) {
      if (!has_place(panel.x.scale, point.x) || !has_place(panel.y.scale, point.y)) continue;
      xs.push_back(point.x);
      ys.push_back(point.y);
      if (series.spread == SpreadMarks::None) continue;
      for (const double end : {point.low, point.high}) {
        if (end >= panel.y.least && end <= panel.y.most) ys.push_back(end);
      }
    }
  }
  const auto x = range_of(panel.x, xs);
  const auto y = range_of(panel.y, ys);
  if (!x || !y) return std::nullopt;
  return PanelRanges{*x, *y};
}

std::vector<double> y_ticks(const Panel& panel, const Range& range, double height) {
  return ticks_of(panel.y.scale, range,
                  std::max<std::size_t>(2, static_cast<std::size_t>(height / TickHeight)));
}

std::string draw_text(double x, double y, std::string_view attributes, std::string_view text) {
  return fmt::format("<text{} x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", attributes, x, y,
                     escaped(text));
}

std::string draw_panel(const Panel& panel, const PanelRanges& ranges, const Box& plot) {
  const Plane plane(panel, ranges, plot);
  std::string svg = draw_text(plot.x, plot.y - 9, "", panel.title);
  svg += draw_axes(panel, ranges, plane);
  for (const Series& series : panel.series) svg += draw_series(series, plane);
  return svg;
}

}  // namespace rcap::chart
