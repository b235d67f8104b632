#pragma once

#include <limits>
#include <string>
#include <vector>

#include "study/chart_axis.hpp"
#include "study/chart_look.hpp"

/// Writes charts as SVG, for the figures of a study: readable at the width of a column (700 units
/// wide, few and large labels), safe for colour-blind readers, light or dark by the reader's own
/// setting in one file, with text that stays text, and the same bytes for the same input. The chart
/// libraries of C++ draw for one background only, hence our own.
namespace rcap::chart {

struct Point {
  double x = 0;
  double y = 0;
  /// Ends of the band or bar; NaN if there is none.
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();
  double radius = 5;      ///< of the marker
  std::string note = {};  ///< shown when the pointer rests on the marker
};

enum class Join { None, Straight, Steps };
enum class SpreadMarks { None, Band, Bars };

struct Series {
  Look look = 0;
  std::vector<Point> points = {};
  Join join = Join::Straight;
  bool thin = false;
  bool markers = true;  ///< a few on a line, each on its point; one on every point without a line
  SpreadMarks spread = SpreadMarks::None;
};

/// Points that cannot be placed, such as 0 on a logarithmic axis, are left out and break the line.
struct Panel {
  std::string title;  ///< says what y is: no text is rotated
  Axis x;
  Axis y;
  std::vector<Series> series;
};

struct LegendEntry {
  std::string name = {};
  Look look = 0;
  bool line = true;
  bool marker = true;
};

/// Panels in rows, with their own heading and legend.
struct Section {
  std::string heading = {};
  std::size_t columns = 2;
  double plot_height = 210;
  bool same_y = false;  ///< one range of y for all panels
  std::vector<Panel> panels = {};
  std::vector<LegendEntry> legend = {};
};

struct Chart {
  std::string title;
  std::string description;  ///< for those who cannot see it
  std::vector<Section> sections;
  std::vector<LegendEntry> legend;  ///< of all sections
  std::string note;                 ///< a sentence or two below everything
};

/// The text of the SVG file.
[[nodiscard]] std::string draw_chart(const Chart& chart);

}  // namespace rcap::chart
