#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace rcap::chart {

enum class Scale { Linear, Log };

struct Axis {
  std::string title = {};
  Scale scale = Scale::Linear;
  /// The room around the values never goes beyond these, e.g. 0 and 100 for percentages.
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  /// Values to label, as far as they fit; empty: round ones. For x axes.
  std::vector<double> ticks = {};
};

/// The ends of an axis; `low` < `high`, both above 0 on a logarithmic one.
struct Range {
  double low;
  double high;
};

/// Whether the value can be placed: finite, and above 0 on a logarithmic axis.
[[nodiscard]] bool has_place(Scale scale, double value);

/// The range of the values, with some room on both sides; values that cannot be placed are ignored.
/// @return empty if none can be placed
[[nodiscard]] std::optional<Range> range_of(const Axis& axis, const std::vector<double>& values);

/// Where a value lies: 0 at the low end of the range, 1 at the high end.
[[nodiscard]] double place_of(Scale scale, const Range& range, double value);

/// Round values inside the range, ascending: multiples of 1, 2 or 5 times a power of ten on a
/// linear axis; on a logarithmic one 1-1.5-2-3-5-7, 1-2-5, 1-3, whole decades or, within a
/// factor of three, linear ones: whichever gives the most ticks.
/// @param most  how many there may be, at least 2
[[nodiscard]] std::vector<double> ticks_of(Scale scale, const Range& range, std::size_t most);

/// A short text: 0.25, 300, 10k, 2M, 1e-5.
[[nodiscard]] std::string tick_label(double value);

}  // namespace rcap::chart
