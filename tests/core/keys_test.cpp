#include "core/keys.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>

#include "rcap/core/weighted_draw.hpp"

namespace rcap {
namespace {

/// -ln(-ln(1 - u)) in extended precision.
double reference_noise(std::uint64_t bits) {
  const long double u = (static_cast<long double>(bits) + 0.5L) * 0x1p-64L;
  if (bits < (std::uint64_t{1} << 63)) return static_cast<double>(-std::log(-std::log1p(-u)));
  const long double rest = (static_cast<long double>(~bits) + 0.5L) * 0x1p-64L;
  return static_cast<double>(-std::log(-std::log(rest)));
}

TEST(RaceKey, IsPreciseAtBothEndsOfTheUniform) {
  // The smallest numbers decide who is drawn: precision there must be relative to 2^-65.
  for (int shift = 0; shift < 64; ++shift) {
    for (const std::uint64_t bits : {std::uint64_t{1} << shift, (std::uint64_t{1} << shift) - 1,
                                     ~(std::uint64_t{1} << shift)}) {
      const double expected = reference_noise(bits);
      EXPECT_NEAR(race_key(0, 1, bits), expected, 4e-15 * std::max(1.0, std::abs(expected)))
          << bits;
    }
  }
}

TEST(RaceKey, AddsTheLossOverBeta) {
  const std::uint64_t bits = std::uint64_t{1} << 63;
  EXPECT_NEAR(race_key(3, 0.5, bits) - race_key(0, 0.5, bits), 6, 1e-14);
}

TEST(RaceKey, IsFiniteForEveryFiniteLossAndAllowedBeta) {
  for (const float loss :
       {0.0F, std::numeric_limits<float>::denorm_min(), 1e30F, std::numeric_limits<float>::max()}) {
    for (const double beta : {1e-3, 1.0, 1e3}) {
      for (const std::uint64_t bits : {std::uint64_t{0}, ~std::uint64_t{0}}) {
        EXPECT_TRUE(std::isfinite(race_key(loss, beta, bits))) << loss << ' ' << beta;
      }
    }
  }
}

TEST(RaceKey, HasTheSameBitsOnEveryMachine) {
  // Pinned. Basic operations in a fixed order: whatever compiler and vector width.
  EXPECT_EQ(race_key(2.5F, 0.3, 0x0123456789abcdefU), 0x1.b7e91f775afaap+3);
  EXPECT_EQ(race_key(0.0F, 1.0, 0xfedcba9876543210U), -0x1.b07af34a6047fp+0);
}

TEST(ExactKeys, EqualRaceKeyToTheLastBit) {
  const RandomStream stream(1, Purpose::Synthetic, 0);
  std::vector<float> losses;
  std::vector<std::uint64_t> bits;
  for (SampleId id = 0; id < 1001; ++id) {
    losses.push_back(static_cast<float>(10 * stream.uniform(id)));
    bits.push_back(stream.bits(id + 5000));
  }
  std::vector<double> keys(losses.size());
  exact_keys(losses.data(), bits.data(), keys.size(), 0.7, keys.data());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ(keys[i], race_key(losses[i], 0.7, bits[i]));
  }
}

TEST(StreamBits, EqualTheStream) {
  const RandomStream stream(3, Purpose::Order, 7);
  std::vector<std::uint64_t> bits(100);
  stream_bits(stream, 12345, bits.size(), bits.data());
  for (std::size_t i = 0; i < bits.size(); ++i) {
    ASSERT_EQ(bits[i], stream.bits(12345 + static_cast<SampleId>(i)));
  }
}

TEST(CoarseKeys, KeepTheirErrorBound) {
  const RandomStream stream(1, Purpose::Selection, 0);
  const std::vector<float> no_loss(BlockSamples);
  std::vector<float> keys(BlockSamples);
  double largest_error = 0;
  for (SampleId first = 0; first < 4'000'000; first += BlockSamples) {
    coarse_keys(stream, first, no_loss.data(), BlockSamples, {1, 1}, keys.data());
    for (std::size_t i = 0; i < BlockSamples; ++i) {
      const double exact = race_key(0, 1, stream.bits(first + static_cast<SampleId>(i)));
      largest_error = std::max(largest_error, std::abs(exact - static_cast<double>(keys[i])));
    }
  }
  EXPECT_LT(largest_error, static_cast<double>(NoiseError));
  EXPECT_GT(largest_error, 0);
}

TEST(ExactExp, AgreesWithTheLibrary) {
  EXPECT_EQ(exact_exp(0), 1.0);
  for (double x = -0.001; x > -700; x *= 1.3) {
    EXPECT_NEAR(exact_exp(x) / std::exp(x), 1.0, 4e-15) << x;
  }
  EXPECT_EQ(exact_exp(-1e30), 0.0);
}

TEST(ExactLog, AgreesWithTheLibrary) {
  EXPECT_EQ(exact_log(1), 0.0);
  for (double x = 1e-300; x < 1e300; x *= 1.7) {
    EXPECT_NEAR(exact_log(x), std::log(x), 4e-15 * std::abs(std::log(x))) << x;
  }
}

}  // namespace
}  // namespace rcap
