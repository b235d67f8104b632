#pragma once

#include <cstddef>
#include <cstdint>

#include "rcap/core/random_stream.hpp"

namespace rcap {

/// The arithmetic of the exponential race, in two forms.
///
/// The exact form is double precision made of IEEE basic operations in a fixed order
/// (`keys.cpp` is compiled without contraction), so keys are the same bits on every
/// machine and for every vector width. It decides.
///
/// The approximate form is single precision and several times faster. It only sorts
/// samples coarsely; whatever lies too near an edge to be sure of is asked again in the
/// exact form.

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
inline constexpr float NoiseError = 6e-6F;

/// Coarse keys of the samples first .. first + count - 1, at most `BlockSamples` of them;
/// `losses` are theirs.
void coarse_keys(const RandomStream& stream, SampleId first, const float* losses, std::size_t count,
                 const KeyScale& scale, float* keys);

/// The bin of each place on a scale of `bin_count` bins of width 1 from 0 on; outside of
/// it the nearest one. `doubts[i]` is 1 where a place lies within `unsure` (below 1/2) of
/// an edge between two bins, else 0.
void bins_of_places(const float* places, std::size_t count, int bin_count, float unsure,
                    std::uint8_t* bins, std::uint8_t* doubts);

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

/// Compares the bins of `count` samples with others, a bit a sample: bit i % 64 of word
/// i / 64 tells whether bins[i] > others[i], or is equal.
void compare_bins(const std::uint8_t* bins, const std::uint8_t* others, std::size_t count,
                  std::uint64_t* higher, std::uint64_t* equal);

/// stream.bits(first + i) for every i < count.
void stream_bits(const RandomStream& stream, SampleId first, std::size_t count,
                 std::uint64_t* bits);

/// exp(x) for x <= 0, the same on every machine; 0 below -708.
[[nodiscard]] double exact_exp(double x) noexcept;

}  // namespace rcap
