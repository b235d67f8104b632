#pragma once

#include <string>

#include "rcap/core/advise.hpp"

namespace rcap {

/// What each rule keeps of each class, a panel for each rate: the classes from the largest to the
/// smallest, their samples and those of the first epoch. The text of an SVG file that shows itself
/// light or dark as its reader prefers; same advice, same bytes.
[[nodiscard]] std::string advice_figure(const Advice& advice);

}  // namespace rcap
