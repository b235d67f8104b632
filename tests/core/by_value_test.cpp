#include "core/by_value.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <gmock/gmock.h>

#include "core/times_tried.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;
using Values = std::vector<float>;

constexpr float Infinity = std::numeric_limits<float>::infinity();

const RandomStream Random(5, Purpose::Selection, 0);

TEST(SamplesBelowAndAbove, LeaveOutTheBoundItself) {
  const Values values{1, 2, 3, 2};
  EXPECT_THAT(samples_below(values, 2).ids(), ElementsAre(0));
  EXPECT_THAT(samples_above(values, 2).ids(), ElementsAre(2));
}

TEST(SamplesAtPlaces, CountFromTheLowestValue) {
  const Values values{5, 1, 4, 2, 3};  // in order: samples 1, 3, 4, 2, 0
  const SampleSet all = SampleSet::all(5);
  EXPECT_THAT(samples_at_places(values, all, 0, 2, Random, 1).ids(), ElementsAre(1, 3));
  EXPECT_THAT(samples_at_places(values, all, 1, 3, Random, 1).ids(), ElementsAre(2, 3, 4));
  EXPECT_THAT(samples_at_places(values, all, 4, 1, Random, 1).ids(), ElementsAre(0));
  EXPECT_THAT(samples_at_places(values, all, 2, 0, Random, 1).ids(), ElementsAre());
  SampleSet some = all;
  some.erase_present(3);
  EXPECT_THAT(samples_at_places(values, some, 1, 2, Random, 1).ids(), ElementsAre(2, 4));
}

TEST(SamplesAtPlaces, PutEqualValuesInRandomOrder) {
  // Places 1 and 2 of 0, 7, 7, 7: two of the three sevens, each with probability 2/3. In 3,000
  // draws a sample is chosen 2,000 times, give or take 26; the bound is six of these.
  constexpr int Draws = times_tried(3000);
  const Values values{7, 0, 7, 7};
  std::array<int, 4> chosen{};
  for (int epoch = 0; epoch < Draws; ++epoch) {
    const RandomStream stream(5, Purpose::Selection, epoch);
    for (const SampleId id : samples_at_places(values, SampleSet::all(4), 1, 2, stream, 1).ids()) {
      ++chosen[static_cast<std::size_t>(id)];
    }
  }
  EXPECT_EQ(chosen[1], 0);
  const double bound = 6 * std::sqrt(Draws * 2.0 / 9);
  for (const int id : {0, 2, 3}) {
    EXPECT_NEAR(chosen[static_cast<std::size_t>(id)], Draws * 2.0 / 3, bound);
  }
}

TEST(SamplesAtPlaces, AgreeWithSorting) {
  for (int round = 0; round < 300; ++round) {
    const RandomStream random(99, Purpose::Synthetic, round);
    const auto count = static_cast<SampleId>(1 + random.below(200, 0));
    Values values;
    SampleSet candidates(count);
    for (SampleId id = 0; id < count; ++id) {
      // Few different values in every second round, with both zeros among them.
      const auto value = static_cast<float>(random.uniform(1 + id));
      values.push_back(round % 2 == 0 ? value * 1e6F : std::floor(value * 6 - 1));
      if (values.back() < 0) values.back() = -0.0F;
      if (random.below(3, 1000 + id) != 0) candidates.insert(id);
    }
    std::vector<float> expected;
    for (const SampleId id : candidates.ids()) expected.push_back(values[id]);
    std::ranges::sort(expected);
    const auto first = static_cast<std::int64_t>(random.below(expected.size() + 1, 5000));
    const auto size = static_cast<std::int64_t>(random.below(expected.size() - first + 1, 5001));
    std::vector<float> found;
    for (const SampleId id : samples_at_places(values, candidates, first, size, Random, 2).ids()) {
      EXPECT_TRUE(candidates.contains(id));
      found.push_back(values[id]);
    }
    std::ranges::sort(found);
    EXPECT_EQ(found, std::vector<float>(expected.begin() + first, expected.begin() + first + size))
        << round;
  }
}

TEST(GroupStarts, AreThoseOfKMeans) {
  // Quantiles 1/4 and 3/4 of the sorted values: 1 and 9. Nearest: 0, 1, 2 | 8, 9, 10.
  EXPECT_THAT(group_starts({9, 1, 0, 8, 2, 10}, 2), ElementsAre(0, 8));
  // From 1 and 2 (places 1 and 4 of 6), the middle is 1.5: 0, 1, 1 | 2, 2, 100. The means are 2/3
  // and 34.7, their middle 17.7: 0, 1, 1, 2, 2 | 100. The means are 1.2 and 100: it stays so.
  EXPECT_THAT(group_starts({1, 0, 2, 100, 1, 2}, 2), ElementsAre(0, 100));
  EXPECT_THAT(group_starts({3, 5}, 1), ElementsAre(0));
  // All in the first group.
  EXPECT_THAT(group_starts({4, 4, 4}, 3), ElementsAre(0, Infinity, Infinity));
}

TEST(GroupStarts, LeaveNoValueNearerToAnotherMean) {
  for (int round = 0; round < 50; ++round) {
    const RandomStream random(7, Purpose::Synthetic, round);
    Values values;
    for (SampleId id = 0; id < 500; ++id) {
      const double u = random.uniform(id);
      values.push_back(static_cast<float>(round % 2 == 0 ? u * u * u * 8 : std::floor(u * 12)));
    }
    const std::vector<float> starts = group_starts(values, 5);
    std::vector<double> sums(5), counts(5);
    const auto group_of = [&](float value) {
      return static_cast<std::size_t>(std::ranges::upper_bound(starts, value) - starts.begin() - 1);
    };
    for (const float value : values) {
      sums[group_of(value)] += static_cast<double>(value);
      ++counts[group_of(value)];
    }
    for (const float value : values) {
      const auto distance = [&](std::size_t g) {
        return std::abs(static_cast<double>(value) - sums[g] / counts[g]);
      };
      for (std::size_t g = 0; g < 5; ++g) {
        if (counts[g] == 0) continue;
        EXPECT_LE(distance(group_of(value)), distance(g) + 1e-9) << round;
      }
    }
  }
}

TEST(SelectAtLeast, TakesTheHighestWhereTooFewAreLeft) {
  const Values values{1, 5, 3, 5};
  SampleSet few(4);
  few.insert(0);
  select_at_least(1, values, few);
  EXPECT_THAT(few.ids(), ElementsAre(0));
  select_at_least(2, values, few);
  EXPECT_THAT(few.ids(), ElementsAre(1, 3));
}

}  // namespace
}  // namespace rcap
