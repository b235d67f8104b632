#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rcap/core/options.hpp"

namespace rcap {

/// The robust rule of RCAP: how many samples of each class, and how much each of them counts.
/// `docs/algorithm.md` derives every formula; all spans have an entry for each class.

struct RobustOptions {
  /// How much more a class errs on new data than on what it was trained on, for each time that its
  /// samples were seen: a part of its error.
  double allowance = 0.1;
  /// 1 splits the budget for the average class; the larger, the more for the worst.
  double focus = 1;
  /// The most that a sample of a class counts which is taken whole and should have more.
  double lift = 10;
  /// How many times rarer than the others a class must be drawn for its samples to be weighed back
  /// wholly to the picture of the class; nothing: they never are.
  std::optional<double> unbias = std::nullopt;
};

void list_options(OptionFields& fields, RobustOptions& options);

/// How often a sample of each class has been seen after some epochs in which every class had the
/// same share, as far as it has so many samples.
[[nodiscard]] std::vector<double> expected_visits(std::span<const std::int64_t> class_sizes,
                                                  std::int64_t keep_count, std::int64_t epochs);

/// The error of each class on new data, from the mean losses of what it was trained on: these fall
/// with every visit, whatever was learnt.
[[nodiscard]] std::vector<double> errors_on_new_data(std::span<const double> mean_losses,
                                                     std::span<const double> visits,
                                                     double allowance);

/// The weight of each class in the split of the budget.
/// @param errors  of the classes, each times how many of its samples were selected
[[nodiscard]] std::vector<double> robust_weights(std::span<const double> errors, double focus);

/// How much each sample of a class counts beside one of a class that is not full: above 1 where the
/// class is taken whole and its weight asks for more.
[[nodiscard]] std::vector<float> lifts_of(std::span<const std::int64_t> class_sizes,
                                          std::span<const std::int64_t> counts,
                                          std::span<const double> weights, double most);

/// The exponent of 1 / chance in the weight of a sample: 0 in the class that is drawn at the
/// highest rate, 1 in one drawn at an `unbias`-th of it.
[[nodiscard]] std::vector<float> unbias_exponents(std::span<const std::int64_t> class_sizes,
                                                  std::span<const std::int64_t> counts,
                                                  std::optional<double> unbias);

}  // namespace rcap
