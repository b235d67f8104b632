#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/chunks.hpp"
#include "core/groups.hpp"
#include "core/set_bits.hpp"
#include "rcap/core/ids.hpp"

namespace rcap {

/// Bins sort the samples of a group coarsely: up to 256 of them, the higher the better.
/// Here samples find their bins, bins are counted, and blocks of samples are compared with
/// them. Note [Drawing in two passes] explains why.
///
/// A *place* is a position on the scale of a group's bins, which have width 1 and begin
/// at 0. A *histogram* is a table of counts: a row for each bin, a column for each group.
/// All functions take time proportional to what they read.

/// How many bins (as a power of two) serve groups of this average size: enough that few
/// samples share the deciding bin, few enough that the counts stay in the cache.
inline int bin_bits_for(std::int64_t sample_count, std::size_t group_count) {
  const auto average = static_cast<std::uint64_t>(sample_count) / group_count;
  return std::clamp(static_cast<int>(std::bit_width(average / 16)), 0, 8);
}

/// Adds to the place of each sample the start of its class. For the types of labels that
/// `ClassIndex` keeps.
template <class Label>
void add_starts(const Label* labels, const float* starts, std::size_t count, float* places);

/// The bin of each place; below the scale the lowest, as for NaN, and above it the highest.
void bins_of_places(const float* places, std::size_t count, int bin_count, std::uint8_t* bins);

/// The cell of each sample in a histogram with rows of `row` classes.
void cells_of(const std::uint8_t* bins, const std::uint8_t* labels, std::size_t count,
              std::uint32_t row, std::uint32_t* cells);
void cells_of(const std::uint8_t* bins, const std::uint16_t* labels, std::size_t count,
              std::uint32_t row, std::uint32_t* cells);
void cells_of(const std::uint8_t* bins, const std::uint32_t* labels, std::size_t count,
              std::uint32_t row, std::uint32_t* cells);

/// Counts the samples from `first` on in their bins. Rows belong to bins because most
/// samples are in the end bins, so that most counting stays in two rows.
/// @param row    how many groups there are
/// @param count  at most `BlockSamples`
template <Grouping Groups>
void count_in_bins(Groups groups, std::uint32_t row, SampleId first, const std::uint8_t* bins,
                   std::size_t count, std::uint32_t* histogram) {
  // Cells first: that loop is vectorised, and the one that counts then never waits.
  std::uint32_t cells[BlockSamples];
  if constexpr (requires { groups.labels; }) {
    cells_of(bins, groups.labels + first, count, row, cells);
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      const auto group = static_cast<std::uint32_t>(groups(first + static_cast<SampleId>(i)));
      cells[i] = bins[i] * row + group;
    }
  }
  for (std::size_t i = 0; i < count; ++i) ++histogram[cells[i]];
}

/// For each of the groups of `counts`, the bin in which its `counts[g]`-th sample from the
/// highest bin down lies, and how many samples lie in higher ones. Never reads the counts
/// of the lowest bin.
/// @param histogram  from the column of the first of these groups on
/// @param row        how many groups the whole histogram has
void find_deciding_bins(const std::uint32_t* histogram, std::size_t row, int bin_count,
                        std::span<const std::int64_t> counts, std::uint8_t* deciding,
                        std::uint32_t* higher);
/// The same for counts of all shards.
void find_deciding_bins(const std::int64_t* histogram, std::size_t row, int bin_count,
                        std::span<const std::int64_t> counts, std::uint8_t* deciding,
                        std::int64_t* higher);

/// Compares each bin with the `width` bins from lowest[i] on. Bit i % 64 of word i / 64
/// tells whether bins[i] is above them, or one of them.
void compare_bins(const std::uint8_t* bins, const std::uint8_t* lowest, std::uint8_t width,
                  std::size_t count, std::uint64_t* higher, std::uint64_t* within);

/// Whether each bin is one of `lowest` to `highest`, in bits as above.
void bins_within(const std::uint8_t* bins, std::size_t count, std::uint8_t lowest,
                 std::uint8_t highest, std::uint64_t* within);

/// The samples of a block, counted from its first, whose bins are `lowest` to `highest`.
/// @param count  at most `BlockSamples`
inline SetBits samples_within(const std::uint8_t* bins, std::size_t count, std::uint8_t lowest,
                              std::uint8_t highest) {
  static_assert(BlockSamples <= 64 * SetBits::MostWords);
  std::uint64_t within[BlockSamples / 64];
  bins_within(bins, count, lowest, highest, within);
  return SetBits({within, (count + 63) / 64});
}

}  // namespace rcap
