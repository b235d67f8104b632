#pragma once

#include <nlohmann/json_fwd.hpp>

#include "study/report.hpp"

namespace rcap {

/// The input of a report's script: the runs in compact form.
///
/// Numbers have six significant digits, or five in curves. What many runs share is stored once:
/// `groups` (names and sizes), `grids` (lists of epochs), options that are equal in all runs. A
/// list of counts that never changes is one number. docs/report.md lists the keys.
[[nodiscard]] nlohmann::ordered_json report_data(const StudyResults& results,
                                                 const ReportLimits& limits);

}  // namespace rcap
