#pragma once

#include <nlohmann/json_fwd.hpp>

#include "study/report.hpp"

namespace rcap {

/// What the script of a report is given: the runs, in short.
///
/// Numbers have six significant digits, in curves five. What many runs share stands once:
/// `groups` (names and sizes), `grids` (numbers of epochs), `options` that are equal everywhere.
/// A list of counts that never changes is one number. docs/report.md tells the keys.
[[nodiscard]] nlohmann::ordered_json report_data(const StudyResults& results,
                                                 const ReportLimits& limits);

}  // namespace rcap
