#pragma once

#include <cstdint>
#include <span>

#include "rcap/core/ids.hpp"

namespace rcap {

/// Whether all ids lie between 0 and sample_count - 1.
[[nodiscard]] bool all_exist(std::span<const SampleId> ids, std::int64_t sample_count);

/// Whether all losses are finite and not below zero. May be false for -0.
[[nodiscard]] bool all_are_losses(std::span<const float> losses);
[[nodiscard]] bool all_are_losses(std::span<const double> losses);

}  // namespace rcap
