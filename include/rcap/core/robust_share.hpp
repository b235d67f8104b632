#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rcap/core/export.hpp"
#include "rcap/core/options.hpp"

RCAP_API_BEGIN
namespace rcap {

/// The robust rule of RCAP: how many samples of each class to take, and how much each of them
/// counts. `docs/algorithm.md` derives every formula; all spans have one entry per class.

struct RobustOptions {
  /// How much more a class errs on new data than on what it was trained on, for each time its
  /// samples were seen: a fraction of its error.
  double allowance = 0.1;
  /// 1 splits the budget for the average class; larger values favour the worst.
  double focus = 1;
  /// The most that a sample may count if its class is taken whole and should have more.
  double lift = 10;
  /// How many times more rarely than the others a class must be drawn for its weights to correct
  /// fully for the draw, so that they represent the whole class; empty: they never do.
  std::optional<double> unbias = std::nullopt;
};

void list_options(OptionFields& fields, RobustOptions& options);

/// How often a sample of each class has been seen after some epochs in which every class had the
/// same share, or all of its samples if it has fewer.
[[nodiscard]] std::vector<double> expected_visits(std::span<const std::int64_t> class_sizes,
                                                  std::int64_t keep_count, std::int64_t epochs);

/// The error of each class on new data, from the mean losses of what it was trained on, which fall
/// with every visit, whatever was learnt.
[[nodiscard]] std::vector<double> errors_on_new_data(std::span<const double> mean_losses,
                                                     std::span<const double> visits,
                                                     double allowance);

/// The weight of each class in the split of the budget.
/// @param errors  of the classes, each multiplied by how many of its samples were selected
[[nodiscard]] std::vector<double> robust_weights(std::span<const double> errors, double focus);

/// How much each sample of a class counts compared with a class that is not taken whole: above 1 if
/// the class is taken whole and its weight asks for more.
[[nodiscard]] std::vector<float> lifts_of(std::span<const std::int64_t> class_sizes,
                                          std::span<const std::int64_t> counts,
                                          std::span<const double> weights, double most);

/// The exponent of 1 / probability in the weight of a sample: 0 in the class that is drawn at the
/// highest rate, 1 in one drawn at 1 / `unbias` of that rate.
[[nodiscard]] std::vector<float> unbias_exponents(std::span<const std::int64_t> class_sizes,
                                                  std::span<const std::int64_t> counts,
                                                  std::optional<double> unbias);

}  // namespace rcap
RCAP_API_END
