#include "cli/text_plot.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace rcap::cli {
namespace {

constexpr int DotsAcross = 2;
constexpr int DotsDown = 4;
constexpr char32_t NoDots = 0x2800;  // the first character of Braille
/// The bit of each dot in a character of Braille, by row and column.
constexpr unsigned DotBits[DotsDown][DotsAcross] = {
    {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};

/// Dots over an area of a canvas.
class DotGrid {
 public:
  explicit DotGrid(const Area& area)
      : area_(area),
        bits_(static_cast<std::size_t>(area.rows) * static_cast<std::size_t>(area.columns)),
        inks_(bits_.size()) {}

  [[nodiscard]] int last_x() const noexcept { return area_.columns * DotsAcross - 1; }
  [[nodiscard]] int last_y() const noexcept { return area_.rows * DotsDown - 1; }

  void set(int x, int y, Ink ink) {
    const auto cell = static_cast<std::size_t>(y / DotsDown * area_.columns + x / DotsAcross);
    bits_[cell] |= DotBits[y % DotsDown][x % DotsAcross];
    inks_[cell] = ink;
  }

  /// All dots of a straight line, including its ends.
  void join(int x0, int y0, int x1, int y1, Ink ink) {
    const int steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
    for (int step = 0; step <= steps; ++step) {
      const double part = static_cast<double>(step) / steps;
      set(static_cast<int>(std::lround(x0 + part * (x1 - x0))),
          static_cast<int>(std::lround(y0 + part * (y1 - y0))), ink);
    }
  }

  void copy_to(TextCanvas& canvas) const {
    for (std::size_t cell = 0; cell < bits_.size(); ++cell) {
      const int place = static_cast<int>(cell);
      if (bits_[cell] == 0) continue;
      canvas.put(area_.row + place / area_.columns, area_.column + place % area_.columns,
                 NoDots + bits_[cell], inks_[cell]);
    }
  }

 private:
  Area area_;
  std::vector<unsigned> bits_;
  std::vector<Ink> inks_;
};

int place_of(double value, Range range, int last) {
  const double width = range.high - range.low;
  const double part = width > 0 ? (value - range.low) / width : 0.5;
  return static_cast<int>(std::lround(std::clamp(part, 0.0, 1.0) * last));
}

}  // namespace

void draw_curves(TextCanvas& canvas, const Area& area, Range x, Range y,
                 std::span<const Curve> curves) {
  if (area.rows < 1 || area.columns < 1) return;
  DotGrid grid(area);
  for (const Curve& curve : curves) {
    bool is_first = true;
    int last_x = 0, last_y = 0;
    for (const Point& point : curve.points) {
      if (!std::isfinite(point.y)) continue;
      const int dot_x = place_of(point.x, x, grid.last_x());
      const int dot_y = grid.last_y() - place_of(point.y, y, grid.last_y());
      grid.join(is_first ? dot_x : last_x, is_first ? dot_y : last_y, dot_x, dot_y, curve.ink);
      is_first = false;
      last_x = dot_x;
      last_y = dot_y;
    }
  }
  grid.copy_to(canvas);
}

void draw_bar(TextCanvas& canvas, int row, int column, int columns, double part, Ink ink) {
  constexpr char32_t Eighths[] = U" ▏▎▍▌▋▊▉█";
  if (!(part > 0)) return;
  int left = std::max(1, static_cast<int>(std::lround(std::min(part, 1.0) * columns * 8)));
  for (; left > 0; left -= 8, ++column) canvas.put(row, column, Eighths[std::min(left, 8)], ink);
}

}  // namespace rcap::cli
