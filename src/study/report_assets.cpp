#include "study/report_assets.hpp"

// The assembler includes the files as they are; a generated array of five million numbers would
// keep the compiler busy for a minute. report.cmake names them as dependencies.
#define RCAP_INCLUDE(path) ".incbin \"" path "\"\n"
#define RCAP_EMBED(name, contents)                                                         \
  asm(".pushsection .rodata\nrcap_report_" #name "_begin:\n" contents "rcap_report_" #name \
      "_end:\n.popsection\n");                                                             \
  extern "C" {                                                                             \
  extern const char name##_begin[] asm("rcap_report_" #name "_begin");                     \
  extern const char name##_end[] asm("rcap_report_" #name "_end");                         \
  }

RCAP_EMBED(skeleton, RCAP_INCLUDE(RCAP_REPORT_PARTS "/report.html"))
RCAP_EMBED(style, RCAP_INCLUDE(RCAP_REPORT_PARTS "/report.css"))
RCAP_EMBED(script,
           RCAP_INCLUDE(RCAP_REPORT_PARTS "/study.js")         //
           RCAP_INCLUDE(RCAP_REPORT_PARTS "/document.js")      //
           RCAP_INCLUDE(RCAP_REPORT_PARTS "/tables.js")        //
           RCAP_INCLUDE(RCAP_REPORT_PARTS "/runs.js")          //
           RCAP_INCLUDE(RCAP_REPORT_PARTS "/plots.js")         //
           RCAP_INCLUDE(RCAP_REPORT_PARTS "/plot_results.js")  //
           RCAP_INCLUDE(RCAP_REPORT_PARTS "/plot_epochs.js")   //
           RCAP_INCLUDE(RCAP_REPORT_PARTS "/page.js"))
RCAP_EMBED(plotly_licence, RCAP_INCLUDE(RCAP_REPORT_PARTS "/plotly_licence.txt"))
RCAP_EMBED(plotly, RCAP_INCLUDE(RCAP_PLOTLY_JS))

namespace rcap {

ReportAssets report_assets() {
  return {{skeleton_begin, skeleton_end},
          {style_begin, style_end},
          {script_begin, script_end},
          {plotly_licence_begin, plotly_licence_end},
          {plotly_begin, plotly_end}};
}

}  // namespace rcap
