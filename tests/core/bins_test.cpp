#include "core/bins.hpp"

#include <limits>
#include <vector>

#include <gmock/gmock.h>

namespace rcap {
namespace {

using testing::ElementsAre;

TEST(BinsOfPlaces, CutsToTheBinsThereAre) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> places{0.5F, 1.01F, 1.99F,    2.5F,      3.0F, 4.0F,
                                  -7,   99,    infinity, -infinity, nan};
  std::vector<std::uint8_t> bins(places.size());
  bins_of_places(places.data(), places.size(), 4, bins.data());
  EXPECT_THAT(bins, ElementsAre(0, 1, 1, 2, 3, 3, 0, 3, 3, 0, 0));
}

TEST(AddStarts, GivesEachPlaceTheStartOfItsClass) {
  const std::vector<float> starts{10, 20, 30};
  const auto added = [&](const auto& labels) {
    std::vector<float> places{1, 2, 3, 4, 5, 6};  // one more than labels, which stays as it is
    add_starts(labels.data(), starts.data(), labels.size(), places.data());
    return places;
  };
  EXPECT_THAT(added(std::vector<std::uint8_t>{2, 0, 1, 1, 2}), ElementsAre(31, 12, 23, 24, 35, 6));
  EXPECT_THAT(added(std::vector<std::uint16_t>{0, 1, 2, 0}), ElementsAre(11, 22, 33, 14, 5, 6));
  EXPECT_THAT(added(std::vector<std::uint32_t>{1, 1, 1}), ElementsAre(21, 22, 23, 4, 5, 6));
}

TEST(CountInBins, HasARowForEachBin) {
  // Groups 0, 1, 0, 1; of three bins sample 2 has the highest, the others the lowest two.
  const std::vector<std::uint8_t> labels{0, 1, 0, 1};
  const std::vector<std::uint8_t> bins{0, 1, 2, 1};
  std::vector<std::uint32_t> histogram(6);
  count_in_bins(LabelGroups{labels.data()}, 2, 0, bins.data(), 4, histogram.data());
  EXPECT_THAT(histogram, ElementsAre(1, 0, 0, 2, 1, 0));
  histogram.assign(3, 0);
  count_in_bins(OneGroup{}, 1, 0, bins.data(), 4, histogram.data());
  EXPECT_THAT(histogram, ElementsAre(1, 2, 1));
}

TEST(FindDecidingBins, WalkDownFromTheHighest) {
  // Three bins of four groups; the counts of the lowest are not looked at.
  const std::vector<std::uint32_t> histogram{99, 99, 99, 99,  //
                                             5,  5,  5,  5,   //
                                             3,  3,  3,  3};
  std::vector<std::uint8_t> deciding(3);
  std::vector<std::uint32_t> higher(3);
  const std::vector<std::int64_t> counts{3, 4, 9};
  find_deciding_bins(histogram.data() + 1, 4, 3, counts, deciding.data(), higher.data());
  EXPECT_THAT(deciding, ElementsAre(2, 1, 0));
  EXPECT_THAT(higher, ElementsAre(0, 3, 8));
}

TEST(CompareBins, TellsHigherFromWithin) {
  const std::vector<std::uint8_t> bins{0, 4, 5, 6, 7, 8, 255, 255, 0};
  const std::vector<std::uint8_t> lowest{5, 5, 5, 5, 5, 5, 5, 253, 0};
  std::uint64_t higher = 0;
  std::uint64_t within = 0;
  compare_bins(bins.data(), lowest.data(), 3, bins.size(), &higher, &within);
  EXPECT_EQ(higher, 0b001100000U);
  EXPECT_EQ(within, 0b110011100U);
}

TEST(BinsWithin, MarksBothEndsAndAllBetween) {
  std::vector<std::uint8_t> bins(70);
  bins[3] = 1;
  bins[5] = 8;
  bins[63] = 255;
  bins[69] = 7;
  const auto bit = [](int place) { return std::uint64_t{1} << place; };
  std::uint64_t within[2];
  bins_within(bins.data(), bins.size(), 1, 255, within);
  EXPECT_EQ(within[0], bit(3) | bit(5) | bit(63));
  EXPECT_EQ(within[1], bit(5));
  bins_within(bins.data(), bins.size(), 1, 7, within);
  EXPECT_EQ(within[0], bit(3));
  EXPECT_EQ(within[1], bit(5));
  bins_within(bins.data(), bins.size(), 255, 255, within);
  EXPECT_EQ(within[0], bit(63));
  EXPECT_EQ(within[1], 0U);
  bins_within(bins.data(), bins.size(), 0, 255, within);
  EXPECT_EQ(within[0], ~std::uint64_t{0});
  EXPECT_EQ(within[1], bit(6) - 1);
}

}  // namespace
}  // namespace rcap
