#include "core/inclusion.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/keys.hpp"
#include "core/vector_clones.hpp"

namespace rcap {
namespace {

constexpr float Log2E = 0x1.715476p+0F;
constexpr float Ln2High = 0x1.62e4p-1F;  // few digits: its products with whole numbers are exact
constexpr float Ln2Low = 0x1.7f7d1cp-20F;

/// x = whole ln 2 + rest, |rest| <= ln 2 / 2, |x| < 2^15.
struct Reduced {
  float whole;
  float rest;
};

inline Reduced reduce(float x) {
  constexpr float Shift = 0x1.8p23F;  // added and taken away, it leaves a whole number
  const float whole = (x * Log2E + Shift) - Shift;
  return {whole, (x - whole * Ln2High) - whole * Ln2Low};
}

/// exp(r) - 1 for |r| <= ln 2 / 2.
inline float expm1_near_zero(float r) {
  float p = 1.0F / 5040;
  p = p * r + 1.0F / 720;
  p = p * r + 1.0F / 120;
  p = p * r + 1.0F / 24;
  p = p * r + 1.0F / 6;
  p = p * r + 0.5F;
  return r + r * r * p;
}

/// 2^whole, from -126 to 127.
inline float power_of_two(float whole) {
  return std::bit_cast<float>((static_cast<std::int32_t>(whole) + 127) << 23);
}

/// For -87 <= x <= 88.
inline float exponential(float x) {
  const Reduced reduced = reduce(x);
  return power_of_two(reduced.whole) * (1.0F + expm1_near_zero(reduced.rest));
}

/// ln(x) for x >= 1.
inline float logarithm(float x) {
  constexpr std::int32_t One = 0x3f800000;
  constexpr std::int32_t SqrtHalf = 0x3f3504f3;
  const std::int32_t shifted = std::bit_cast<std::int32_t>(x) + (One - SqrtHalf);
  const auto exponent = static_cast<float>((shifted >> 23) - 127);
  const float f = std::bit_cast<float>((shifted & 0x7fffff) + SqrtHalf) - 1.0F;
  const float s = f / (2.0F + f);
  const float z = s * s;
  float p = 2.0F / 9;
  p = p * z + 2.0F / 7;
  p = p * z + 2.0F / 5;
  p = p * z + 2.0F / 3;
  return exponent * Ln2High + (exponent * Ln2Low + (2.0F * s + s * z * p));
}

/// The least x of a drawn sample, whose noise is at most 45; 1 / q is then all that `InverseChance`
/// can hold. A difference of huge keys can round to less.
constexpr float LeastLikely = -44.0F;

}  // namespace

RCAP_VECTOR_CLONES
void inverse_chances(float* x, std::size_t count, InverseChance* inverses) {
  constexpr float Certain = 3.0F;  // exp(-exp(3)) is 2e-9: q rounds to 1
  // Two loops: each exponential is a long chain, and a processor works on the more samples at a
  // time the shorter their chains are.
  for (std::size_t i = 0; i < count; ++i) {
    const float likely = x[i] < Certain ? x[i] : Certain;
    x[i] = exponential(likely > LeastLikely ? likely : LeastLikely);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Reduced reduced = reduce(-x[i]);
    const float scale = power_of_two(reduced.whole);
    // exp(-x) - 1 without the loss of digits where x is small: there scale - 1 is 0.
    const float chance = -(scale * expm1_near_zero(reduced.rest) + (scale - 1.0F));
    inverses[i] = InverseChance(1.0F / chance);
  }
}

RCAP_VECTOR_CLONES
void powers(const InverseChance* bases, const float* exponents, std::size_t count, float* results) {
  for (std::size_t i = 0; i < count; ++i) {
    results[i] = exponential(exponents[i] * logarithm(bases[i].value()));
  }
}

double exact_power(double base, double exponent) noexcept {
  if (exponent == 0.5) return std::sqrt(base);  // correctly rounded everywhere
  if (base == 0) return exponent == 0 ? 1 : 0;
  const double log = exact_log(base) * exponent;
  return log <= 0 ? exact_exp(log) : 1 / exact_exp(-log);
}

}  // namespace rcap
