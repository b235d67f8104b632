#pragma once

#include <optional>
#include <string>
#include <vector>

#include "study/svg_chart.hpp"

namespace rcap::chart {

/// A rectangle of the picture, y downwards.
struct Box {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
};

/// What the axes of a panel show.
struct PanelRanges {
  Range x;
  Range y;
};

/// The ranges that hold all points, bands and bars.
/// @return empty if no point can be placed
[[nodiscard]] std::optional<PanelRanges> ranges_of(const Panel& panel);

/// The values to label along an axis of this length.
[[nodiscard]] std::vector<double> y_ticks(const Panel& panel, const Range& range, double height);

/// The title, the frame with its labels and everything in it.
/// @param plot  the frame; the title is above it, labels to the left and below
[[nodiscard]] std::string draw_panel(const Panel& panel, const PanelRanges& ranges,
                                     const Box& plot);

/// Text at a place. `attributes` begin with a space.
[[nodiscard]] std::string draw_text(double x, double y, std::string_view attributes,
                                    std::string_view text);

}  // namespace rcap::chart
