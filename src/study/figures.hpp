#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "study/results.hpp"

namespace rcap {

/// The figures of a study, each the text of an SVG file that shows itself light or dark as its
/// reader prefers. A data set is a row of panels, so that one file holds all of them. Same
/// results, same bytes.
///
/// Where a method was run at several betas and beta is not what the figure is about, the beta
/// nearest to 1 stands for it. Means and population deviations are over seeds.
///
/// Each returns nothing where the runs do not allow the figure.

/// Worst and average group accuracy against beta, one line per pruning rate; of methods of RCAP
/// that were run at two betas or more.
[[nodiscard]] std::optional<std::string> beta_figure(const StudyResults& results);

/// The part of an epoch that each class has, over the epochs, at the highest rate and the first
/// seed; of the class-share rules of RCAP, of rs2 and of balanced. Three classes at both ends
/// stand out where there are many.
[[nodiscard]] std::optional<std::string> class_fraction_figure(const StudyResults& results);

/// Samples per epoch of each class, mean over the epochs after the first, against the size of
/// the class, and as a part of the class against its loss; at the highest rate and the first
/// seed. Many classes are averaged in groups of similar size.
[[nodiscard]] std::optional<std::string> class_count_figure(const StudyResults& results);

/// Worst and average group accuracy against the seconds of a run, its part of the scoring
/// included, with the Pareto front of all methods and rates.
[[nodiscard]] std::optional<std::string> cost_figure(const StudyResults& results);

/// The same against the samples that a run took, the same on every machine: one that went forward
/// only counts as `ForwardPart` of one that was trained on. Runs that did not count are left out.
[[nodiscard]] std::optional<std::string> sample_cost_figure(const StudyResults& results);

/// Worst and average group accuracy over the samples trained on, at the highest rate.
[[nodiscard]] std::optional<std::string> curve_figure(const StudyResults& results);

/// Writes figure_beta.svg, figure_class_fractions.svg, figure_class_counts.svg, figure_cost.svg,
/// figure_samples.svg and figure_curves.svg, and removes those that can no longer be made.
///
/// @param folder  must exist
/// @return the files written
/// @throws BadFile  a file cannot be written or removed
std::vector<std::filesystem::path> write_figures(const StudyResults& results,
                                                 const std::filesystem::path& folder);

}  // namespace rcap
