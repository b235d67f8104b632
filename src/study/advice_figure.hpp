#pragma once

#include <string>

#include "rcap/core/advise.hpp"

namespace rcap {

/// What each rule keeps of each class, with a panel for each rate: the classes from the largest to
/// the smallest, with all their samples and those of the first epoch. The text of an SVG file that
/// is light or dark as the reader prefers; the same advice gives the same bytes.
[[nodiscard]] std::string advice_figure(const Advice& advice);

}  // namespace rcap
