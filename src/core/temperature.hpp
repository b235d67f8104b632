#pragma once

#include <span>

#include "rcap/core/class_index.hpp"

namespace rcap {

/// The temperature at which the draw inside the classes is worth half of them: the mean over the
/// classes of
///
///     (sum of exp(loss / beta))^2 / sum of exp(2 loss / beta) / class size,
///
/// the effective part of a class under softmax(loss / beta), is 1/2. It follows the scale of the
/// losses: ten times the losses give ten times the temperature, and the same draw. Between 0.001
/// and 1000; 1000, an even draw, where all losses of each class are equal.
///
/// Losses are sorted into 64 bins between 0 and the largest of their class; accurate to about 1 %.
[[nodiscard]] double balanced_beta(const ClassIndex& classes, std::span<const float> losses);

}  // namespace rcap
