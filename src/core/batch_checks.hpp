#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "rcap/core/ids.hpp"

namespace rcap {

/// Whether all ids lie between 0 and sample_count - 1.
[[nodiscard]] bool all_exist(std::span<const SampleId> ids, std::int64_t sample_count);

/// Whether it is finite and not below zero by more than a loss function can fall by rounding.
template <class Real>
[[nodiscard]] bool is_loss(Real loss) {
  constexpr double RoundingError = 1e-6;
  // False for NaN as well.
  return loss >= static_cast<Real>(-RoundingError) && loss <= std::numeric_limits<Real>::max();
}

/// Whether all losses are finite and not below zero. May be false for -0.
[[nodiscard]] bool all_are_losses(std::span<const float> losses);
[[nodiscard]] bool all_are_losses(std::span<const double> losses);

/// @throws InvalidArgument  there is not one loss for each id
/// @param where  what a message begins with
void check_sizes(const char* where, std::size_t ids, std::size_t losses);

/// @return whether some of them lie below zero by rounding
/// @throws InvalidArgument  one is no loss; names it
template <class Real>
bool check_losses(const char* where, std::span<const SampleId> ids, std::span<const Real> losses);

}  // namespace rcap
