#include "data/images/resize_weights.hpp"

#include <algorithm>
#include <cmath>

namespace rcap {
namespace {

/// A triangle of height 1 from -1 to 1.
double triangle(double x) { return std::max(0.0, 1.0 - std::abs(x)); }

/// Two cubic pieces, from 0 to 1 and from 1 to 2, and their mirror image.
double cubic(double x) {
  constexpr double A = -0.5;
  x = std::abs(x);
  if (x < 1) return ((A + 2) * x - (A + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * A;
  return 0;
}

std::int32_t to_fixed(double part) {
  return static_cast<std::int32_t>((part < 0 ? -0.5 : 0.5) + part * (1 << ResizeWeights::Bits));
}

}  // namespace

void ResizeWeights::make(int source_size, int result_size, int begin, int count,
                         Interpolation interpolation) {
  const bool bilinear = interpolation == Interpolation::Bilinear;
  const double scale = static_cast<double>(source_size) / result_size;
  // If the image grows, the filter spans neighbouring pixels; if it shrinks, all that become one.
  const double stretch = std::max(scale, 1.0);
  const double reach = stretch * (bilinear ? 1 : 2);
  const auto center = [&](int i) { return (begin + i + 0.5) * scale; };
  const auto first_of = [&](int i) {
    return std::max(0, static_cast<int>(center(i) - reach + 0.5));
  };
  const auto end_of = [&](int i) {
    return std::min(source_size, static_cast<int>(center(i) + reach + 0.5));
  };

  taps_ = 0;
  for (int i = 0; i < count; ++i) taps_ = std::max(taps_, end_of(i) - first_of(i));
  firsts_.resize(static_cast<std::size_t>(count));
  values_.assign(firsts_.size() * static_cast<std::size_t>(taps_), 0);
  parts_.resize(static_cast<std::size_t>(taps_));
  for (int i = 0; i < count; ++i) {
    const int first = first_of(i);
    const auto used = static_cast<std::size_t>(end_of(i) - first);
    double sum = 0;
    for (std::size_t k = 0; k < used; ++k) {
      const double x = (static_cast<double>(k) + first - center(i) + 0.5) * (1.0 / stretch);
      parts_[k] = bilinear ? triangle(x) : cubic(x);
      sum += parts_[k];
    }
    // The taps of the last positions begin earlier, with weights of 0, so that they end with the
    // source.
    const int shifted = std::min(first, source_size - taps_);
    firsts_[static_cast<std::size_t>(i)] = shifted;
    std::int32_t* const values = values_.data() + static_cast<std::ptrdiff_t>(i) * taps_;
    for (std::size_t k = 0; k < used; ++k) {
      values[k + static_cast<std::size_t>(first - shifted)] =
          to_fixed(sum == 0 ? parts_[k] : parts_[k] / sum);
    }
  }
}

}  // namespace rcap
