#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "study/results.hpp"

namespace rcap {

/// The figures of a study, each the text of an SVG file that is light or dark as the reader
/// prefers. Each data set is a row of panels, so that one file holds all of them. The same results
/// give the same bytes.
///
/// If a method was run at several betas and the figure is not about beta, the beta nearest to 1 is
/// shown. Means and population deviations are over seeds.
///
/// Each returns nothing if there are no runs for the figure.

/// Worst and average group accuracy against beta, one line per pruning rate; for variants of RCAP
/// that were run at two betas or more.
[[nodiscard]] std::optional<std::string> beta_figure(const StudyResults& results);

/// The fraction of an epoch that each class has, over the epochs, at the highest rate and the first
/// seed; for the class-share rules of RCAP, rs2 and balanced. If there are many classes, the three
/// largest and the three smallest stand out.
[[nodiscard]] std::optional<std::string> class_fraction_figure(const StudyResults& results);

/// Samples per epoch of each class, mean over the epochs after the first, against the size of
/// the class, and as a fraction of the class against its loss; at the highest rate and the first
/// seed. If there are many classes, they are averaged in groups of similar size.
[[nodiscard]] std::optional<std::string> class_count_figure(const StudyResults& results);

/// Worst and average group accuracy against the seconds of a run, including its scoring run, with
/// the Pareto front of all methods and rates.
[[nodiscard]] std::optional<std::string> cost_figure(const StudyResults& results);

/// The same against the samples that a run took, which are the same on every machine: a sample that
/// went forward only counts as `ForwardPart` of one that was trained on. Runs that did not count
/// their samples are left out.
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
