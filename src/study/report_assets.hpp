#pragma once

#include <string_view>

namespace rcap {

/// The fixed parts of a report, embedded in the program so that it needs no files beside it.
struct ReportAssets {
  std::string_view skeleton;  ///< HTML with {{title}}, {{style}}, {{data}}, {{script}}, ...
  std::string_view style;
  std::string_view script;          ///< src/study/report/*.js, one after another
  std::string_view plotly_licence;  ///< the text that the banner of its bundle only refers to
  std::string_view plotly;
};

[[nodiscard]] ReportAssets report_assets();

}  // namespace rcap
