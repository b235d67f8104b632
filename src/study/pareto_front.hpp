#pragma once

#include <cstddef>
#include <vector>

namespace rcap {

struct CostAndValue {
  double cost;
  double value;
};

/// The points that no other point beats: none is at most as costly and at least as good, and
/// better in one of the two. Of equal points the first. By ascending cost, and so by ascending
/// value; points with a NaN are passed over.
[[nodiscard]] std::vector<std::size_t> pareto_front(const std::vector<CostAndValue>& points);

}  // namespace rcap
