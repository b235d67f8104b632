#include "study/pareto_front.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace rcap {

std::vector<std::size_t> pareto_front(const std::vector<CostAndValue>& points) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!std::isnan(points[i].cost) && !std::isnan(points[i].value)) order.push_back(i);
  }
  std::ranges::sort(order, {},
                    [&](std::size_t i) { return std::tuple(points[i].cost, -points[i].value, i); });
  std::vector<std::size_t> front;
  for (const std::size_t i : order) {
    if (front.empty() || points[i].value > points[front.back()].value) front.push_back(i);
  }
  return front;
}

}  // namespace rcap
