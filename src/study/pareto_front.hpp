#pragma once

#include <cstddef>
#include <vector>

namespace rcap {

struct CostAndValue {
  double cost;
  double value;
};

/// The points that no other point beats, that is, no other costs at most as much, is at least as
/// good, and is better in one of the two. Of equal points, the first. By ascending cost, and so by
/// ascending value; points with a NaN are ignored.
[[nodiscard]] std::vector<std::size_t> pareto_front(const std::vector<CostAndValue>& points);

}  // namespace rcap
