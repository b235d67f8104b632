#include "core/set_bits.hpp"

#include <vector>

#include <gmock/gmock.h>

#include "rcap/core/random_stream.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Words = std::vector<std::uint64_t>;

std::vector<int> places_in(const Words& words) {
  const SetBits bits(words);
  return {bits.begin(), bits.end()};
}

TEST(SetBits, ListsPlacesInAscendingOrder) {
  EXPECT_THAT(places_in({0b1001, std::uint64_t{1} << 63}), ElementsAre(0, 3, 127));
  EXPECT_THAT(places_in({0, 0}), IsEmpty());
  EXPECT_THAT(places_in({}), IsEmpty());
}

TEST(SetBits, ListsEveryBitOfAFullBlock) {
  const SetBits bits(Words(SetBits::MostWords, ~std::uint64_t{0}));
  std::uint16_t expected = 0;
  for (const std::uint16_t place : bits) ASSERT_EQ(place, expected++);
  EXPECT_EQ(expected, 64 * SetBits::MostWords);
}

TEST(SetBits, AgreesWithLookingAtEveryBit) {
  const RandomStream random(1, Purpose::Synthetic, 0);
  for (SampleId round = 0; round < 200; ++round) {
    const Words words{random.bits(2 * round), random.bits(2 * round + 1) & random.bits(-round - 1)};
    std::vector<int> expected;
    for (int i = 0; i < 128; ++i) {
      if ((words[static_cast<std::size_t>(i / 64)] >> (i % 64)) & 1) expected.push_back(i);
    }
    ASSERT_THAT(places_in(words), testing::ElementsAreArray(expected));
  }
}

}  // namespace
}  // namespace rcap
