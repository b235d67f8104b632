#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "study/results.hpp"

namespace rcap {

/// How much of the epochs a report holds. The defaults keep 500 runs of 60 epochs and 10 classes
/// whole, in a page below 8 MB; what larger studies leave out, the page says.
struct ReportLimits {
  std::int64_t curve_points = 40'000;   ///< evaluations in all curves; else every k-th epoch
  std::int64_t class_counts = 400'000;  ///< counts of all runs, epochs, classes; else every k-th
  std::size_t classes = 100;            ///< runs with more have no class counts
  std::size_t groups = 100;             ///< runs with more tell their worst groups alone
  std::size_t worst_groups = 20;        ///< so many of them
};

/// Makes a page that shows a study: tables that sort, plots that answer, every run's options.
///
/// One HTML document with all it needs in it: it opens from a file, without a network. The same
/// results make the same bytes.
[[nodiscard]] std::string make_report(const StudyResults& results, const ReportLimits& limits = {});

/// Writes the page; a file that is there is replaced at once.
/// @return its size in bytes
/// @throws BadFile  the file cannot be written
std::size_t write_report(const StudyResults& results, const std::filesystem::path& path);

}  // namespace rcap
