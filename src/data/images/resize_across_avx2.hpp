#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/images/resize_weights.hpp"

/// Resizing along rows with vectors of 32 bytes, written out for x86 processors: the compiler
/// finds no vectors in sums over three interleaved channels.
///
/// Products of 8 and 22 bits are made from two of 16 bits each: a weight w is 2048 * high + low,
/// and pairs of products are added in one instruction.
namespace rcap::avx2 {

inline constexpr std::size_t RowsTogether = 4;
/// How far beyond the end of a row is read, at most; what is read there is not used.
inline constexpr std::size_t BytesBeyond = 16;

/// Whether this processor has the instructions.
[[nodiscard]] bool available() noexcept;

/// For each result position and every two taps: the low parts of both weights, then the high ones,
/// 16 bits each.
void make_tap_pairs(const ResizeWeights& weights, std::vector<std::int32_t>& pairs);

/// Resizes rows of three channels. One byte behind each result row is written too, so no row may
/// begin directly behind another.
void resize_rows(const std::array<const std::uint8_t*, RowsTogether>& source,
                 const ResizeWeights& weights, const std::vector<std::int32_t>& pairs,
                 const std::array<std::uint8_t*, RowsTogether>& result);

}  // namespace rcap::avx2
