#include "rcap/train/group_accuracy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace rcap {
namespace {

constexpr double Absent = std::numeric_limits<double>::quiet_NaN();

double ratio(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? Absent : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::vector<double> GroupAccuracy::by_group() const {
  std::vector<double> accuracies(sizes_.size());
  std::ranges::transform(correct_, sizes_, accuracies.begin(), ratio);
  return accuracies;
}

double GroupAccuracy::worst() const {
  double lowest = Absent;
  for (const double accuracy : by_group()) lowest = std::fmin(lowest, accuracy);
  return lowest;
}

double GroupAccuracy::average() const {
  double sum = 0;
  std::int64_t present = 0;
  for (const double accuracy : by_group()) {
    if (std::isnan(accuracy)) continue;
    sum += accuracy;
    ++present;
  }
  return present == 0 ? Absent : sum / static_cast<double>(present);
}

double GroupAccuracy::overall() const {
  return ratio(std::reduce(correct_.begin(), correct_.end()),
               std::reduce(sizes_.begin(), sizes_.end()));
}

}  // namespace rcap
