#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/images/resize_across.hpp"
#include "data/images/resize_weights.hpp"

namespace rcap {

/// Weighs rows that lie below each other: the second half of a resize.
///
/// @param source     begins with row `first_row` of those that the weights count
/// @param row_bytes  how much of each row is wanted
/// @param sums       memory
/// @param result     rows without gaps, as many as there are weights
void resize_down(const PixelRows& source, int first_row, std::size_t row_bytes,
                 const ResizeWeights& weights, std::vector<std::int32_t>& sums,
                 std::uint8_t* result);

}  // namespace rcap
