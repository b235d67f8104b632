#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace rcap::cli {

/// A summary of repeated measurements.
struct MedianAndRange {
  double median, lowest, highest;
};

/// @param values  at least one
[[nodiscard]] inline MedianAndRange median_and_range_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {median, values.front(), values.back()};
}

/// As NAME, NAME_min and NAME_max; nothing if there are no values.
inline void put_median_and_range(nlohmann::ordered_json& json, const std::string& name,
                                 const std::vector<double>& values) {
  if (values.empty()) return;
  const MedianAndRange summary = median_and_range_of(values);
  json[name] = summary.median;
  json[name + "_min"] = summary.lowest;
  json[name + "_max"] = summary.highest;
}

}  // namespace rcap::cli
