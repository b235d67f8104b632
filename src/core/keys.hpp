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
inline constexpr float NoiseError = 8e-6F;

/// Coarse keys of the samples first .. first + count - 1, at most `BlockSamples` of them;
/// `losses` are theirs.
void coarse_keys(const RandomStream& stream, SampleId first, const float* losses, std::size_t count,
                 const KeyScale& scale, float* keys);

/// marks[i] becomes 1 where a place, which is > 0, lies within `unsure` (below 1/2) of a
/// whole number, else 0.
void mark_near_edges(const float* places, std::size_t count, float unsure, std::uint8_t* marks);

/// stream.bits(first + i) for every i < count.
void stream_bits(const RandomStream& stream, SampleId first, std::size_t count,
                 std::uint64_t* bits);

/// exp(x) for x <= 0, the same on every machine; 0 below -708.
[[nodiscard]] double exact_exp(double x) noexcept;

}  // namespace rcap
