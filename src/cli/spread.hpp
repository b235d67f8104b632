#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace rcap::cli {

/// What a row of measurements comes down to.
struct Spread {
  double median, lowest, highest;
};

/// @param values  at least one
[[nodiscard]] inline Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {median, values.front(), values.back()};
}

/// As NAME, NAME_min and NAME_max; nothing of nothing.
inline void put_spread(nlohmann::ordered_json& json, const std::string& name,
                       const std::vector<double>& values) {
  if (values.empty()) return;
  const Spread spread = spread_of(values);
  json[name] = spread.median;
  json[name + "_min"] = spread.lowest;
  json[name + "_max"] = spread.highest;
}

}  // namespace rcap::cli
