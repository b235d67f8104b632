#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "study/results.hpp"

namespace rcap {

/// How much of the epochs a report holds. The defaults keep 500 runs of 60 epochs and 10 classes
/// whole, in a page below 8 MB; for larger studies, the page says what was left out.
struct ReportLimits {
  std::int64_t curve_points = 40'000;   ///< evaluations in all curves; if more, every k-th is kept
  std::int64_t class_counts = 400'000;  ///< over runs, epochs, classes; if more, every k-th epoch
  std::size_t classes = 100;            ///< runs with more have no class counts
  std::size_t groups = 100;             ///< runs with more show only their worst groups
  std::size_t worst_groups = 20;        ///< how many of these
};

/// Makes a page that shows a study: sortable tables, interactive plots, every run's options.
///
/// It is one self-contained HTML document, which opens from a file, without a network. The same
/// results give the same bytes.
[[nodiscard]] std::string make_report(const StudyResults& results, const ReportLimits& limits = {});

/// Writes the page; an existing file is replaced in one step.
/// @return its size in bytes
/// @throws BadFile  the file cannot be written
std::size_t write_report(const StudyResults& results, const std::filesystem::path& path);

}  // namespace rcap
