#include <bit>

#include "core/keys.hpp"
#include "core/vector_clones.hpp"
#include "rcap/core/weighted_draw.hpp"

namespace rcap {
namespace {

constexpr float Ln2 = 0x1.62e43p-1F;

/// The bits of x, a normal number > 0, counted in units of the last place.
inline std::int32_t bits_of(float x) { return std::bit_cast<std::int32_t>(x); }

/// -ln(1 - u), u = (top + 1/2) / 2^31: relative error below 2.1e-3.
inline float coarse_exponential(std::int32_t top) {
  constexpr std::int32_t One = 0x3f800000;
  constexpr std::int32_t SqrtHalf = 0x3f3504f3;
  const float u = (static_cast<float>(top) + 0.5F) * 0x1p-31F;
  const float rest = (static_cast<float>(0x7fffffff - top) + 0.5F) * 0x1p-31F;
  // rest = 2^exponent * mantissa with a mantissa between sqrt(1/2) and sqrt(2).
  const std::int32_t shifted = bits_of(rest) + (One - SqrtHalf);
  const std::int32_t exponent = (shifted >> 23) - 127;
  const float mantissa = std::bit_cast<float>((shifted & 0x7fffff) + SqrtHalf);
  // Near 1 the difference 1 - u has lost the digits of u; there u itself is at hand.
  const float f = exponent == 0 ? -u : mantissa - 1.0F;
  const float log1p = f * (0.99975828F + f * (0.32372241F * f - 0.52375441F));
  return -(static_cast<float>(exponent) * Ln2 + log1p);
}

/// ln(x) of a normal number > 0: absolute error below 5e-4. Its bits, read as a whole
/// number, already are a logarithm drawn with straight lines between the powers of two; a
/// polynomial in the mantissa bends the lines.
inline float coarse_log(float x) {
  const float lines = static_cast<float>(bits_of(x)) * (Ln2 * 0x1p-23F) - 127 * Ln2;
  const float f = std::bit_cast<float>((bits_of(x) & 0x7fffff) | 0x3f800000) - 1.0F;
  return lines + (0.00044157F + f * (0.29034589F + f * (0.1096897F * f - 0.40003559F)));
}

/// Within this distance of either end 31 bits are too coarse for `NoiseError`.
constexpr std::int32_t End = 1 << 12;

inline bool is_near_an_end(std::int32_t top) {
  return static_cast<std::uint32_t>(top - End) > static_cast<std::uint32_t>(0x7fffffff - 2 * End);
}

/// The first 31 random bits of `count` neighbours.
RCAP_VECTOR_CLONES
void top_bits(std::uint64_t state, std::size_t count, std::int32_t* tops) {
  for (std::size_t i = 0; i < count; ++i) {
    tops[i] = static_cast<std::int32_t>(mix64(state) >> 33);
    state += RandomStream::Gamma;
  }
}

RCAP_VECTOR_CLONES
bool keys_of_block(const std::int32_t* tops, const float* losses, std::size_t count,
                   const KeyScale& scale, float* keys) {
  std::uint32_t near_an_end = 0;
  for (std::size_t i = 0; i < count; ++i) {
    near_an_end |= static_cast<std::uint32_t>(is_near_an_end(tops[i]));
    const float noise = -coarse_log(coarse_exponential(tops[i]));
    keys[i] = losses[i] * scale.per_loss + noise * scale.per_nat;
  }
  return near_an_end != 0;
}

}  // namespace

void coarse_keys(const RandomStream& stream, SampleId first, const float* losses, std::size_t count,
                 const KeyScale& scale, float* keys) {
  std::int32_t tops[BlockSamples];
  top_bits(stream.state(first), count, tops);
  if (!keys_of_block(tops, losses, count, scale, keys)) return;
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_near_an_end(tops[i])) continue;
    const std::uint64_t bits = stream.bits(first + static_cast<SampleId>(i));
    const auto noise = static_cast<float>(race_key(0, 1, bits));
    keys[i] = losses[i] * scale.per_loss + noise * scale.per_nat;
  }
}

}  // namespace rcap
