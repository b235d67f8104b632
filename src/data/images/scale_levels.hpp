#pragma once

#include <cstddef>
#include <cstdint>

namespace rcap {

/// After this many levels the means and deviations repeat: a multiple of the channels of a pixel
/// and of the numbers in a vector.
inline constexpr std::size_t ScalePeriod = 48;

/// Turns levels into (level / 255 - mean) / deviation, in this order and precision: ToTensor
/// divides by 255, Normalize does the rest.
/// @param mean, deviation  of `ScalePeriod` consecutive levels
void scale_levels(const std::uint8_t* levels, std::size_t count, const float* mean,
                  const float* deviation, float* numbers);

}  // namespace rcap
