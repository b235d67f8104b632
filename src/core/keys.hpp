#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "rcap/core/random_stream.hpp"

namespace rcap {

/// The arithmetic of the exponential race, in two forms.
///
/// The exact form is double precision made of IEEE basic operations in a fixed order
/// (`keys.cpp` is compiled without contraction), so keys are the same bits on every
/// machine and for every vector width. It decides.
///
/// The approximate form is single precision and many times faster. It only sorts samples
/// coarsely; those among which its error could tell wrongly are ranked in the exact form.

/// race_key(losses[i], beta, bits[i]) for every i.
void exact_keys(const float* losses, const std::uint64_t* bits, std::size_t count, double beta,
                double* keys);

/// How many samples are worked on at a time: what belongs to them stays in the cache.
inline constexpr std::size_t BlockSamples = 1024;

/// A coarse key is loss * per_loss + noise * per_nat, noise = -ln(-ln(1 - u)): the exact
/// key times `per_nat` where per_loss = per_nat / beta.
struct KeyScale {
  float per_loss;
  float per_nat;
};

/// The largest absolute error of the noise in a coarse key; a test holds it.
inline constexpr float NoiseError = 2.6e-3F;

/// Coarse keys of the samples first .. first + count - 1, at most `BlockSamples` of them;
/// `losses` are theirs.
void coarse_keys(const RandomStream& stream, SampleId first, const float* losses, std::size_t count,
                 const KeyScale& scale, float* keys);

/// The bin of each place on a scale of `bin_count` bins of width 1 from 0 on; outside of
/// it the nearest one.
void bins_of_places(const float* places, std::size_t count, int bin_count, std::uint8_t* bins);

/// Adds to each place the start of the sample's class, and finds the cell of each sample
/// in a table of rows by bin and columns by class. For each type of labels.
void add_starts(const std::uint8_t* labels, const float* starts, std::size_t count, float* places);
void add_starts(const std::uint16_t* labels, const float* starts, std::size_t count, float* places);
void add_starts(const std::uint32_t* labels, const float* starts, std::size_t count, float* places);
void cells_of(const std::uint8_t* bins, const std::uint8_t* labels, std::size_t count,
              std::uint32_t row, std::uint32_t* cells);
void cells_of(const std::uint8_t* bins, const std::uint16_t* labels, std::size_t count,
              std::uint32_t row, std::uint32_t* cells);
void cells_of(const std::uint8_t* bins, const std::uint32_t* labels, std::size_t count,
              std::uint32_t row, std::uint32_t* cells);

/// Compares the bins of `count` samples with the `width` bins from lowest[i] on, a bit a
/// sample: bit i % 64 of word i / 64 tells whether bins[i] is higher, or within them.
void compare_bins(const std::uint8_t* bins, const std::uint8_t* lowest, std::uint8_t width,
                  std::size_t count, std::uint64_t* higher, std::uint64_t* within);

/// Whether the bins of `count` samples are `lowest` to `highest`, a bit a sample likewise.
void bins_within(const std::uint8_t* bins, std::size_t count, std::uint8_t lowest,
                 std::uint8_t highest, std::uint64_t* within);

/// The bin of each group in which its `counts[g]`-th sample from the highest bin down lies,
/// and how many lie in higher ones. `histogram` has a row of `row` groups for each bin and
/// begins at the first of these.
void find_deciding_bins(const std::uint32_t* histogram, std::size_t row, int bin_count,
                        std::span<const std::int64_t> counts, std::uint8_t* deciding,
                        std::uint32_t* higher);

/// stream.bits(first + i) for every i < count.
void stream_bits(const RandomStream& stream, SampleId first, std::size_t count,
                 std::uint64_t* bits);

/// exp(x) for x <= 0, the same on every machine; 0 below -708.
[[nodiscard]] double exact_exp(double x) noexcept;

}  // namespace rcap
