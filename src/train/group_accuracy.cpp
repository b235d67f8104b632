#include "train/group_accuracy.hpp"

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

std::vector<double> GroupAccuracy::counting() const {
  std::vector<double> accuracies = by_group();
  for (std::size_t g = 0; g < sizes_.size(); ++g) {
    if (sizes_[g] < least_size_) accuracies[g] = Absent;
  }
  return accuracies;
}

double GroupAccuracy::worst() const {
  double lowest = Absent;
  for (const double accuracy : counting()) lowest = std::fmin(lowest, accuracy);
  return lowest;
}

double GroupAccuracy::average() const {
  return weighted(std::vector<std::int64_t>(sizes_.size(), 1));
}

double GroupAccuracy::weighted(std::span<const std::int64_t> weights) const {
  double sum = 0;
  double weight = 0;
  const std::vector<double> accuracies = counting();
  for (std::size_t g = 0; g < accuracies.size(); ++g) {
    if (std::isnan(accuracies[g])) continue;
    sum += accuracies[g] * static_cast<double>(weights[g]);
    weight += static_cast<double>(weights[g]);
  }
  return weight == 0 ? Absent : sum / weight;
}

double GroupAccuracy::overall() const {
  return ratio(std::reduce(correct_.begin(), correct_.end()),
               std::reduce(sizes_.begin(), sizes_.end()));
}

}  // namespace rcap
