#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/images/resize_across.hpp"
#include "data/images/resize_weights.hpp"

namespace rcap {

/// Computes weighted sums of rows below each other: the second half of a resize.
///
/// @param source     begins with row `first_row`, as the weights count rows
/// @param row_bytes  how much of each row is needed
/// @param sums       scratch memory
/// @param result     rows without gaps, as many as there are weights
void resize_down(const PixelRows& source, int first_row, std::size_t row_bytes,
                 const ResizeWeights& weights, std::vector<std::int32_t>& sums,
                 std::uint8_t* result);

}  // namespace rcap
