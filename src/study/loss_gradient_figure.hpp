#pragma once

#include <span>
#include <string>

#include "train/loss_gradient.hpp"

namespace rcap {

/// Losses and gradient norms over the epochs, one line per example, as SVG; the legend gives
/// Spearman's correlation of the two for each example.
[[nodiscard]] std::string loss_gradient_figure(std::span<const ExampleTrace> traces);

/// The same numbers as CSV, one line per example and epoch: `epoch,example,class,loss,
/// gradient_norm`, with all digits.
[[nodiscard]] std::string loss_gradient_csv(std::span<const ExampleTrace> traces);

/// "0.987", or "n/a" for a constant series.
[[nodiscard]] std::string correlation_text(const ExampleTrace& trace);

}  // namespace rcap
