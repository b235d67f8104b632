#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "study/results.hpp"
#include "study/svg_chart.hpp"

namespace rcap {

/// Runs that differ only in their seed.
struct RunGroup {
  std::string method;
  double pruning_rate = 0;
  std::optional<double> beta;
  Runs runs;  ///< by seed, at least one

  /// `RunResult::has_rate`.
  [[nodiscard]] bool has_rate() const { return runs.front()->has_rate(); }
};

/// All groups of a data set, in the order of the runs.
[[nodiscard]] std::vector<RunGroup> groups_of(const StudyResults& results,
                                              const std::string& dataset);

/// The groups of a data set with one beta for each method and rate, the nearest to 1;
/// in the order of methods.
[[nodiscard]] std::vector<RunGroup> plain_groups_of(const StudyResults& results,
                                                    const std::string& dataset);

/// The groups of the highest rate, and those without a rate.
[[nodiscard]] std::vector<RunGroup> highest_rate_groups_of(const StudyResults& results,
                                                           const std::string& dataset);

/// How a method looks in all figures: the reference first, then the order of tables.
[[nodiscard]] chart::Look look_of(const StudyResults& results, const std::string& method);

/// The legend of the methods that are in these groups, in the order of tables.
[[nodiscard]] std::vector<chart::LegendEntry> method_legend(const StudyResults& results,
                                                            const std::set<std::string>& methods);

/// Puts the series of the first look, the reference, on top of the others.
void draw_reference_last(chart::Panel& panel);

/// "90 % pruned" of 0.9.
[[nodiscard]] std::string pruned_text(double pruning_rate);

/// The data set, and the highest rate of its runs if there is one.
[[nodiscard]] std::string heading_of(const StudyResults& results, const std::string& dataset);

}  // namespace rcap
