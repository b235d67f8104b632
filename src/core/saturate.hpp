#pragma once

#include <algorithm>
#include <limits>

namespace rcap {

/// A number >= 0 in single precision; what is larger than its largest finite number
/// becomes that number.
[[nodiscard]] inline float saturate(double value) {
  return static_cast<float>(
      std::min(value, static_cast<double>(std::numeric_limits<float>::max())));
}

}  // namespace rcap
