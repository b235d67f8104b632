#include "study/chart_axis.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace rcap::chart {
namespace {

constexpr double Room = 0.06;        // of the range, on both sides
constexpr double Rounding = 1e-9;    // of a step: a tick on the end of a range belongs to it
constexpr int MostDecadesApart = 9;  // between two ticks of a logarithmic axis
constexpr double LinearBelow = 3;    // a logarithmic range this short may have linear ticks

/// factor * 10^power without the error of multiplying by 0.1: 3 / 10 is 0.3.
double times_power(double factor, int power) {
  return power < 0 ? factor / std::pow(10, -power) : factor * std::pow(10, power);
}

struct Step {
  double factor;
  int power;
  [[nodiscard]] double size() const { return times_power(factor, power); }
};

/// The multiples of a step inside the range.
std::vector<double> multiples(const Step& step, const Range& range) {
  const auto first = std::ceil(range.low / step.size() - Rounding);
  const auto last = std::floor(range.high / step.size() + Rounding);
  std::vector<double> ticks;
  for (double i = first; i <= last; ++i) ticks.push_back(times_power(i * step.factor, step.power));
  return ticks;
}

std::vector<double> linear_ticks(const Range& range, std::size_t most) {
  // The smallest step that could work, made coarser until the ticks are few enough.
  const double least = (range.high - range.low) / static_cast<double>(most + 1);
  for (int power = static_cast<int>(std::floor(std::log10(least)));; ++power) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const Step step{factor, power};
      if (step.size() < least) continue;
      std::vector<double> ticks = multiples(step, range);
      if (ticks.size() <= most) return ticks;
    }
  }
}

/// Values factor * 10^k in the range, every `apart`-th power.
std::vector<double> decades(const Range& range, const std::vector<double>& factors, int apart) {
  std::vector<double> ticks;
  const int first = static_cast<int>(std::floor(std::log10(range.low)));
  const int last = static_cast<int>(std::ceil(std::log10(range.high)));
  for (int power = first; power <= last; ++power) {
    if (power % apart != 0) continue;
    for (const double factor : factors) {
      const double tick = times_power(factor, power);
      if (tick >= range.low * (1 - Rounding) && tick <= range.high * (1 + Rounding)) {
        ticks.push_back(tick);
      }
    }
  }
  return ticks;
}

/// The sets of ticks that a logarithmic axis may have, from the densest to the sparsest.
std::vector<std::vector<double>> log_candidates(const Range& range, std::size_t most) {
  std::vector<std::vector<double>> candidates{decades(range, {1.0, 1.5, 2.0, 3.0, 5.0, 7.0}, 1),
                                              decades(range, {1.0, 2.0, 5.0}, 1),
                                              decades(range, {1.0, 3.0}, 1)};
  for (int apart = 1; apart <= MostDecadesApart; ++apart) {
    candidates.push_back(decades(range, {1.0}, apart));
  }
  if (range.high / range.low < LinearBelow) candidates.push_back(linear_ticks(range, most));
  return candidates;
}

std::vector<double> log_ticks(const Range& range, std::size_t most) {
  std::vector<double> best;
  for (const std::vector<double>& ticks : log_candidates(range, most)) {
    if (ticks.size() <= most && ticks.size() > best.size()) best = ticks;
  }
  return best;
}

Range widened(Scale scale, double low, double high) {
  if (scale == Scale::Log) {
    const double factor = low < high ? std::pow(high / low, Room) : 2.0;
    return {low / factor, high * factor};
  }
  const double room = low < high ? Room * (high - low) : std::max(std::abs(low) * Room, 0.5);
  return {low - room, high + room};
}

}  // namespace

bool has_place(Scale scale, double value) {
  return std::isfinite(value) && (scale == Scale::Linear || value > 0);
}

std::optional<Range> range_of(const Axis& axis, const std::vector<double>& values) {
  std::optional<Range> found;
  for (const double value : values) {
    if (!has_place(axis.scale, value)) continue;
    found = found ? Range{std::min(found->low, value), std::max(found->high, value)}
                  : Range{value, value};
  }
  if (!found) return std::nullopt;
  const Range wide = widened(axis.scale, found->low, found->high);
  return Range{std::max(wide.low, std::min(axis.least, found->low)),
               std::min(wide.high, std::max(axis.most, found->high))};
}

double place_of(Scale scale, const Range& range, double value) {
  if (scale == Scale::Linear) return (value - range.low) / (range.high - range.low);
  return std::log(value / range.low) / std::log(range.high / range.low);
}

std::vector<double> ticks_of(Scale scale, const Range& range, std::size_t most) {
  return scale == Scale::Log ? log_ticks(range, most) : linear_ticks(range, most);
}

std::string tick_label(double value) {
  const double size = std::abs(value);
  if (size >= 1e15) return fmt::format("{:.3g}", value);
  for (const auto& [unit, letter] : {std::pair{1e9, 'G'}, {1e6, 'M'}, {1e3, 'k'}}) {
    // Four digits are as short as their abbreviation: 2000, but 20k.
    if (size >= unit && size >= 1e4) return fmt::format("{:.4g}{}", value / unit, letter);
  }
  if (size >= 1e-3 || size == 0) return fmt::format("{:.4g}", value == 0 ? 0 : value);
  const int power = static_cast<int>(std::floor(std::log10(size) + Rounding));
  return fmt::format("{:.3g}e{}", value / std::pow(10, power), power);
}

}  // namespace rcap::chart
