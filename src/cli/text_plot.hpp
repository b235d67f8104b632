#pragma once

#include <span>
#include <vector>

#include "cli/text_canvas.hpp"

namespace rcap::cli {

struct Range {
  double low = 0;
  double high = 1;
};

struct Point {
  double x = 0;
  double y = 0;
};

/// A line through points, in their order.
struct Curve {
  std::vector<Point> points;  ///< those that are not finite are left out
  Ink ink = Ink::First;
};

/// Draws curves into the area, in dots of which a cell has two across and four down. If two curves
/// meet in a cell, it has the ink of the later one.
void draw_curves(TextCanvas& canvas, const Area& area, Range x, Range y,
                 std::span<const Curve> curves);

/// Draws a bar to the right, to an eighth of a cell.
/// @param part  the fraction of `columns`, 0 to 1; above 0 it is at least an eighth of a cell
void draw_bar(TextCanvas& canvas, int row, int column, int columns, double part, Ink ink);

}  // namespace rcap::cli
