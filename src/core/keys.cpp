#include "core/keys.hpp"

#include <bit>
#include <cmath>

#include "core/vector_clones.hpp"
#include "rcap/core/weighted_draw.hpp"

namespace rcap {
namespace {

constexpr double Ln2 = 0x1.62e42fefa39efp-1;

/// (bits + 1/2) / 2^64, to full precision also where it is tiny: the small end decides
/// who is drawn. Never 0; rounds to 1 at the far end, where `unit(~bits)` is precise.
inline double unit(std::uint64_t bits) {
  const double high = std::bit_cast<double>((bits >> 12) | 0x3ff0000000000000U) - 1.0;
  const double low = std::bit_cast<double>((bits & 0xfff) | 0x4330000000000000U) - 0x1p52;
  return high + (low + 0.5) * 0x1p-64;
}

/// ln(1 + f) for sqrt(1/2) - 1 <= f <= sqrt(2) - 1, by the series of 2 atanh(f / (2 + f)).
inline double log1p_near_zero(double f) {
  const double s = f / (2.0 + f);
  const double z = s * s;
  const double half_square = 0.5 * f * f;
  double r = 1.479819860511658591e-01;
  r = r * z + 1.531383769920937332e-01;
  r = r * z + 1.818357216161805012e-01;
  r = r * z + 2.222219843214978396e-01;
  r = r * z + 2.857142874366239149e-01;
  r = r * z + 3.999999999940941908e-01;
  r = r * z + 6.666666666666735130e-01;
  return f - (half_square - s * (half_square + r * z));
}

/// x = 2^exponent * mantissa with a mantissa between sqrt(1/2) and sqrt(2); x > 0, normal.
struct Split {
  double exponent;
  double mantissa;
};

inline Split split(double x) {
  constexpr std::uint64_t SqrtHalf = 0x3fe6a09e667f3bcdU;
  const std::uint64_t shifted = std::bit_cast<std::uint64_t>(x) + (0x3ff0000000000000U - SqrtHalf);
  const double exponent =
      std::bit_cast<double>((shifted >> 52) | 0x4330000000000000U) - (0x1p52 + 1023.0);
  const double mantissa = std::bit_cast<double>((shifted & 0xfffffffffffffU) + SqrtHalf);
  return {exponent, mantissa};
}

/// The exponential of the race: -ln(1 - u), u = (bits + 1/2) / 2^64.
inline double exponential(std::uint64_t bits) {
  const Split rest = split(unit(~bits));  // 1 - u
  // Near 1 the difference 1 - u has lost the digits of u; there u itself is at hand.
  const double f = rest.exponent == 0.0 ? -unit(bits) : rest.mantissa - 1.0;
  return -(rest.exponent * Ln2 + log1p_near_zero(f));
}

inline double noise(std::uint64_t bits) {
  const Split e = split(exponential(bits));
  return -(e.exponent * Ln2 + log1p_near_zero(e.mantissa - 1.0));
}

}  // namespace

RCAP_VECTOR_CLONES
void exact_keys(const float* losses, const std::uint64_t* bits, std::size_t count, double beta,
                double* keys) {
  for (std::size_t i = 0; i < count; ++i) {
    keys[i] = static_cast<double>(losses[i]) / beta + noise(bits[i]);
  }
}

double race_key(float loss, double beta, std::uint64_t bits) noexcept {
  return static_cast<double>(loss) / beta + noise(bits);
}

RCAP_VECTOR_CLONES
void stream_bits(const RandomStream& stream, SampleId first, std::size_t count,
                 std::uint64_t* bits) {
  std::uint64_t state = stream.state(first);
  for (std::size_t i = 0; i < count; ++i) {
    bits[i] = mix64(state);
    state += RandomStream::Gamma;
  }
}

double exact_log(double x) noexcept {
  const Split parts = split(x);
  return parts.exponent * Ln2 + log1p_near_zero(parts.mantissa - 1.0);
}

double exact_exp(double x) noexcept {
  if (x < -708.0) return 0.0;
  const double whole = std::floor(x * 0x1.71547652b82fep0 + 0.5);
  const double r = (x - whole * 0x1.62e42feep-1) - whole * 0x1.a39ef35793c76p-33;
  double p = 1.0 / 6227020800.0;
  for (const double factorial : {479001600.0, 39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0,
                                 720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0}) {
    p = p * r + 1.0 / factorial;
  }
  const auto exponent = static_cast<std::uint64_t>(static_cast<std::int64_t>(whole) + 1023);
  return p *
         std::bit_cast<double>(exponent << 52);  // 2^whole: a normal number, no less than 2^-1022
}

}  // namespace rcap
