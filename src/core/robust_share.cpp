#include "rcap/core/robust_share.hpp"

#include <algorithm>
#include <cmath>

#include "core/inclusion.hpp"
#include "core/keys.hpp"

namespace rcap {

void list_options(OptionFields& fields, RobustOptions& options) {
  fields.number(
      "allowance", options.allowance, "C",
      "how much more a class is taken to err on new data for each time its samples were seen",
      Range::between(0, 1e6));
  fields.number("focus", options.focus, "Q",
                "focus of the split: 1 for the average class, more for the worst, 0 for none",
                Range::between(0, 100));
  fields.number(
      "lift", options.lift, "V",
      "highest weight of a sample whose class is kept whole and needs more; 1: no extra weight",
      Range::between(1, 1e6));
  fields.number(
      "unbias", options.unbias, "U",
      "classes drawn U times less than the most drawn one get full inverse-probability weights",
      Range{.low = 1, .high = 1e9, .low_is_open = true}, "off");
}

std::vector<double> expected_visits(std::span<const std::int64_t> class_sizes,
                                    std::int64_t keep_count, std::int64_t epochs) {
  const auto classes = static_cast<double>(
      std::ranges::count_if(class_sizes, [](std::int64_t size) { return size > 0; }));
  const double share = static_cast<double>(keep_count) / classes;
  std::vector<double> visits(class_sizes.size());
  for (std::size_t j = 0; j < visits.size(); ++j) {
    if (class_sizes[j] == 0) continue;
    const double part = std::min(1.0, share / static_cast<double>(class_sizes[j]));
    visits[j] = static_cast<double>(epochs) * part;
  }
  return visits;
}

std::vector<double> errors_on_new_data(std::span<const double> mean_losses,
                                       std::span<const double> visits, double allowance) {
  std::vector<double> errors(mean_losses.size());
  std::ranges::transform(
      mean_losses, visits, errors.begin(),
      [allowance](double loss, double seen) { return loss * (1 + allowance * seen); });
  return errors;
}

std::vector<double> robust_weights(std::span<const double> errors, double focus) {
  std::vector<double> weights(errors.size());
  std::ranges::transform(errors, weights.begin(),
                         [focus](double error) { return exact_power(error, focus / (focus + 1)); });
  return weights;
}

std::vector<float> lifts_of(std::span<const std::int64_t> class_sizes,
                            std::span<const std::int64_t> counts, std::span<const double> weights,
                            double most) {
  double open_count = 0;
  double open_weight = 0;
  for (std::size_t j = 0; j < counts.size(); ++j) {
    if (counts[j] == class_sizes[j]) continue;
    open_count += static_cast<double>(counts[j]);
    open_weight += weights[j];
  }
  std::vector<float> lifts(counts.size(), 1.0F);
  if (open_weight == 0) return lifts;  // no class gives anything up, or none wants anything
  for (std::size_t j = 0; j < counts.size(); ++j) {
    if (counts[j] != class_sizes[j] || counts[j] == 0) continue;
    const double wanted = open_count / open_weight * weights[j];
    lifts[j] = static_cast<float>(std::clamp(wanted / static_cast<double>(counts[j]), 1.0, most));
  }
  return lifts;
}

std::vector<float> unbias_exponents(std::span<const std::int64_t> class_sizes,
                                    std::span<const std::int64_t> counts,
                                    std::optional<double> unbias) {
  std::vector<float> exponents(counts.size());
  if (!unbias) return exponents;
  const auto rate = [&](std::size_t j) {
    return class_sizes[j] == 0
               ? 0.0
               : static_cast<double>(counts[j]) / static_cast<double>(class_sizes[j]);
  };
  double highest = 0;
  for (std::size_t j = 0; j < counts.size(); ++j) highest = std::max(highest, rate(j));
  for (std::size_t j = 0; j < counts.size(); ++j) {
    if (counts[j] == 0) continue;
    const double rarer = exact_log(highest / rate(j)) / exact_log(*unbias);
    exponents[j] = static_cast<float>(std::clamp(rarer, 0.0, 1.0));
  }
  return exponents;
}

}  // namespace rcap
