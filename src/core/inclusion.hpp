#pragma once

#include <cstddef>

#include "rcap/core/inverse_chance.hpp"

namespace rcap {

/// How likely a sample was drawn, from what the draw left behind.
///
/// A class gives its k samples of largest key, loss / beta + noise. Given the key of the best one
/// that was not drawn (the threshold), sample i was drawn with the chance
///
///     q = 1 - exp(-exp(x)),  x = loss / beta - threshold,
///
/// and the sum of f / q over the drawn samples is an unbiased estimate of the sum of f over the
/// class: `docs/algorithm.md` derives it.
///
/// Single precision, relative errors below 1e-6. Made of IEEE basic operations in a fixed order,
/// without contraction, so that results are the same bits on every machine. All loops are
/// vectorised.

/// 1 / q for each x. Every drawn sample has x >= -44; what is below, because huge keys were
/// rounded, is taken for that. For x = infinity, if a whole class was drawn, it is 1.
/// @param x  overwritten
void inverse_chances(float* x, std::size_t count, InverseChance* inverses);

/// bases[i] to the power of exponents[i], from 0 to 1.
void powers(const InverseChance* bases, const float* exponents, std::size_t count, float* results);

/// base to the power of exponent, for base >= 0 and exponents from 0 to 1.
[[nodiscard]] double exact_power(double base, double exponent) noexcept;

}  // namespace rcap
