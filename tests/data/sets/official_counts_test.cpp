#include "data/sets/official_counts.hpp"

#include <array>

#include <gmock/gmock.h>

namespace rcap {
namespace {

const std::array<std::string, 2> Habitats{"land", "water"};
constexpr std::array<std::int64_t, 2> Parts{3, 1};
constexpr OfficialCounts Official{"training", 4, Parts};

Split split_of(std::vector<ClassId> labels, std::vector<std::int32_t> groups = {}) {
  return {nullptr, std::move(labels), std::move(groups)};
}

TEST(CompareCounts, TellsTheWholeASubsetAndMore) {
  EXPECT_EQ(compare_counts(Official, split_of({0, 1, 0, 0}), Habitats),
            "4 training images, as published");
  EXPECT_EQ(compare_counts(Official, split_of({0, 1}), Habitats),
            "a subset: 2 of 4 training images");
  EXPECT_EQ(compare_counts(Official, split_of({0, 1, 0, 0, 0}), Habitats),
            "5 training images, more than the 4 that were published");
  EXPECT_EQ(compare_counts({"test", 1, {}}, split_of({0}), {}), "1 test images, as published");
}

TEST(CompareCounts, TellsWhichPartDiffers) {
  EXPECT_EQ(compare_counts(Official, split_of({0, 1, 1, 0}), Habitats),
            "4 training images, as many as published, but land has 2 instead of 3");
  // By groups where there are some.
  EXPECT_EQ(compare_counts(Official, split_of({0, 1, 1, 0}, {0, 0, 1, 0}), Habitats),
            "4 training images, as published");
}

}  // namespace
}  // namespace rcap
