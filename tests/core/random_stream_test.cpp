#include "rcap/core/random_stream.hpp"

#include <cmath>
#include <set>

#include <gmock/gmock.h>

namespace rcap {
namespace {

TEST(RandomStream, IsTheSplitMix64Sequence) {
  // The first outputs of SplitMix64 from seed 1234567, as published with the generator.
  constexpr auto stream = RandomStream::from_start(1234567);
  EXPECT_EQ(stream.bits(0), 6457827717110365317U);
  EXPECT_EQ(stream.bits(1), 3203168211198807973U);
  EXPECT_EQ(stream.bits(2), 9817491932198370423U);
  EXPECT_EQ(stream.bits(3), 4593380528125082431U);
  EXPECT_EQ(stream.bits(4), 16408922859458223821U);
}

TEST(RandomStream, KeepsItsValuesFromReleaseToRelease) {
  // From tools/golden_values.py. A change here changes every selection of every user.
  const RandomStream stream(27, Purpose::Selection, 3);
  EXPECT_EQ(stream.bits(0), 13821613860979415490U);
  EXPECT_EQ(stream.bits(1'000'000'000), 17267538820753245270U);
}

TEST(RandomStream, FindsTheSampleOfItsBits) {
  constexpr auto known = RandomStream::from_start(1234567);
  static_assert(known.id_of(3203168211198807973U) == 1);
  for (std::int64_t epoch = 0; epoch < 20; ++epoch) {
    const RandomStream stream(7, Purpose::Order, epoch);
    for (SampleId id = 0; id < 0xffffffff; id = 3 * id + 1) {
      ASSERT_EQ(stream.id_of(stream.bits(id)), id);
    }
  }
}

TEST(RandomStream, SeedPurposeAndEpochAreNotInterchangeable) {
  std::set<std::uint64_t> first_numbers;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    for (const Purpose purpose : {Purpose::Selection, Purpose::Order, Purpose::Permutation}) {
      for (std::int64_t epoch = 0; epoch < 8; ++epoch) {
        first_numbers.insert(RandomStream(seed, purpose, epoch).bits(0));
      }
    }
  }
  EXPECT_EQ(first_numbers.size(), 8U * 3 * 8);
}

TEST(RandomStream, UniformLiesInTheOpenUnitIntervalAndHasTheRightMean) {
  const RandomStream stream(0, Purpose::Synthetic, 0);
  constexpr int Draws = 100'000;
  double sum = 0;
  for (SampleId id = 0; id < Draws; ++id) {
    const double u = stream.uniform(id);
    ASSERT_GT(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
  }
  // Five standard errors: a false alarm in two million seeds; the seed is fixed.
  EXPECT_NEAR(sum / Draws, 0.5, 5 * std::sqrt(1.0 / 12 / Draws));
}

TEST(RandomStream, BelowCoversItsRangeEvenly) {
  const RandomStream stream(0, Purpose::Synthetic, 1);
  constexpr int Draws = 60'000;
  std::array<int, 6> counts{};
  for (SampleId id = 0; id < Draws; ++id) ++counts.at(stream.below(6, id));
  const double expected = Draws / 6.0;
  for (const int count : counts) {
    EXPECT_NEAR(count, expected, 5 * std::sqrt(expected * 5 / 6));
  }
}

}  // namespace
}  // namespace rcap
