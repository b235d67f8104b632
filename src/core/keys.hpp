#pragma once

#include <cstddef>
#include <cstdint>

#include "core/chunks.hpp"
#include "rcap/core/random_stream.hpp"

namespace rcap {

/// The arithmetic of the exponential race, in two forms.
///
/// The exact form is double precision made of IEEE basic operations in a fixed order
/// (`keys.cpp` is compiled without contraction), so keys are the same bits on every
/// machine and for every vector width. It decides.
///
/// The coarse form is single precision, many times faster, and may differ between machines.
/// It only tells which samples need the exact form.
///
/// All loops are vectorised and touch each element once. Arrays hold `count` elements.

/// race_key(losses[i], beta, bits[i]) for every i.
void exact_keys(const float* losses, const std::uint64_t* bits, std::size_t count, double beta,
                double* keys);

/// A coarse key is loss * per_loss + noise * per_nat, noise = -ln(-ln(1 - u)): the exact
/// key times `per_nat` where per_loss = per_nat / beta.
struct KeyScale {
  float per_loss;
  float per_nat;
};

/// The largest absolute error of the noise in a coarse key; a test holds it.
inline constexpr float NoiseError = 2.6e-3F;

/// Coarse keys of the samples from first to first + count - 1, whose losses are `losses`.
/// @param count  at most `BlockSamples`
void coarse_keys(const RandomStream& stream, SampleId first, const float* losses, std::size_t count,
                 const KeyScale& scale, float* keys);

/// stream.bits(first + i) for every i.
void stream_bits(const RandomStream& stream, SampleId first, std::size_t count,
                 std::uint64_t* bits);

/// exp(x) for x <= 0, the same on every machine; 0 below -708.
[[nodiscard]] double exact_exp(double x) noexcept;

/// ln(x) of a normal number > 0, the same on every machine.
[[nodiscard]] double exact_log(double x) noexcept;

}  // namespace rcap
