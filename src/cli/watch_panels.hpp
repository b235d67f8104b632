#pragma once

#include <string>

#include "cli/text_canvas.hpp"
#include "train/run_progress.hpp"

namespace rcap::cli {

/// Draws loss, accuracy, shares of the classes and learning rate of a run, side by side if there is
/// room. Those that do not fit are left out, the last ones first.
void draw_panels(TextCanvas& canvas, const Area& area, const RunProgress& run);

/// "62.5 %".
[[nodiscard]] std::string as_percent(double part);

}  // namespace rcap::cli
