#include "core/log_parts.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/keys.hpp"

namespace rcap {

std::vector<double> log_parts(std::span<const double> weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  double least = 1;
  for (const double weight : weights) {
    if (weight > 0) least = std::min(least, weight);
  }
  std::vector<double> logs;
  for (const double weight : weights) {
    const double part = (weight > 0 ? weight : least / 2) / sum;
    logs.push_back(exact_log(std::max(part, std::numeric_limits<double>::min())));
  }
  return logs;
}

}  // namespace rcap
