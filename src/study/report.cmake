# The report's page and Plotly's script are embedded in rcap, so that it works from anywhere.
# Plotly comes out of the PyPI package that scripts/setup installs.
set(RCAP_PLOTLY_JS "" CACHE FILEPATH "plotly.min.js, which rcap report embeds; empty: the one in .venv")
set(plotly_js "${RCAP_PLOTLY_JS}")
if(NOT plotly_js)
  file(GLOB plotly_js
    ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/plotly/package_data/plotly.min.js)
  if(NOT plotly_js)
    message(FATAL_ERROR "There is no plotly in .venv, and rcap report embeds its plotly.min.js. Run scripts/setup, "
      "or set RCAP_PLOTLY_JS to the plotly.min.js of a plotly package of your own.")
  endif()
  list(GET plotly_js 0 plotly_js)
elseif(NOT EXISTS "${plotly_js}")
  message(FATAL_ERROR "RCAP_PLOTLY_JS is \"${plotly_js}\", but there is no such file; correct it, or leave it "
    "empty for the one that scripts/setup puts into .venv.")
endif()

set(report_parts ${CMAKE_CURRENT_SOURCE_DIR}/report)
set(report_files document.js page.js plot_epochs.js plot_results.js plotly_licence.txt plots.js
  report.css report.html runs.js study.js tables.js)
list(TRANSFORM report_files PREPEND ${report_parts}/)
set_source_files_properties(report_assets.cpp PROPERTIES
  COMPILE_DEFINITIONS "RCAP_REPORT_PARTS=\"${report_parts}\";RCAP_PLOTLY_JS=\"${plotly_js}\""
  OBJECT_DEPENDS "${report_files};${plotly_js}")
