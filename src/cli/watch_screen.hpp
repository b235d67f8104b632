#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "train/run_progress.hpp"

namespace rcap::cli {

struct ScreenSize {
  int columns = 80;
  int rows = 24;

  bool operator==(const ScreenSize&) const = default;
};

/// The picture of a run: its progress, curves of loss, accuracy and learning rate, the shares of
/// the classes. Panels that do not fit are left out, the last ones first.
///
/// @param hint     the last line of a run that is under way
/// @param colours  whether lines have terminal codes for colours
/// @return `size.rows` lines, none wider than `size.columns`
///
/// Pure function.
[[nodiscard]] std::vector<std::string> draw_run(const RunProgress& run, ScreenSize size,
                                                bool colours, std::string_view hint = "");

/// How much longer the run will take if its epochs go on like the last ones; empty before the first
/// one is done, and for a run that is not under way.
[[nodiscard]] std::optional<double> seconds_left(const RunProgress& run);

}  // namespace rcap::cli
