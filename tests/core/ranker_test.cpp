#include "core/ranker.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <vector>

#include <gmock/gmock.h>

#include "core/race_ranker.hpp"

namespace rcap {
namespace {

constexpr std::size_t RankedClasses = 5;
constexpr std::size_t RankedSamples = 20'000;

std::vector<std::uint8_t> find_all_bins(const Ranker auto& ranker) {
  std::vector<std::uint8_t> bins(RankedSamples);
  for (std::size_t first = 0; first < RankedSamples; first += BlockSamples) {
    ranker.find_bins(static_cast<SampleId>(first), std::min(BlockSamples, RankedSamples - first),
                     bins.data() + first);
  }
  return bins;
}

std::size_t bins_in_use(const Ranker auto& ranker) {
  const auto bins = find_all_bins(ranker);
  return std::set(bins.begin(), bins.end()).size();
}

/// Checks that samples of one group more than `Neighbours` bins apart rank as their bins do.
template <Ranker R>
void expect_bins_that_agree(const R& ranker, Grouping auto groups) {
  const auto bins = find_all_bins(ranker);
  EXPECT_LT(*std::ranges::max_element(bins), ranker.bin_count());
  std::vector<std::uint32_t> ids(RankedSamples);
  std::iota(ids.begin(), ids.end(), 0U);
  std::vector<RankedSample> ranked;
  ranker.rank(ids, ranked);
  ASSERT_EQ(ranked.size(), RankedSamples);
  std::sort(ranked.begin(), ranked.end());
  std::array<int, RankedClasses> lowest_before;
  lowest_before.fill(ranker.bin_count());
  for (const RankedSample& sample : ranked) {
    int& lowest = lowest_before.at(groups(sample.id));
    ASSERT_LE(bins[sample.id], lowest + R::Neighbours);
    lowest = std::min<int>(lowest, bins[sample.id]);
  }
}

TEST(UniformRanker, PutsBetterRanksIntoHigherBins) {
  const RandomStream stream(1, Purpose::Selection, 0);
  const UniformRanker ranker(stream, 8);
  EXPECT_EQ(bins_in_use(ranker), 256U);
  expect_bins_that_agree(ranker, OneGroup{});
}

TEST(RaceRanker, PutsClearlyBetterRanksIntoHigherBinsWhereverItAims) {
  const RandomStream random(2, Purpose::Synthetic, 0);
  std::vector<float> losses;
  std::vector<std::uint8_t> labels;
  for (SampleId id = 0; id < static_cast<SampleId>(RankedSamples); ++id) {
    losses.push_back(static_cast<float>(3 * random.uniform(id)));
    labels.push_back(static_cast<std::uint8_t>(id % RankedClasses));
  }
  const ClassIndex classes(std::span<const unsigned char>(labels), RankedClasses);
  const LabelGroups groups{labels.data()};
  RaceRanker ranker(classes, groups, {losses, 0.7}, RandomStream(1, Purpose::Selection, 0), 8);
  // Of 4,000 samples each; none of class 1 and all of class 2 win.
  const std::vector<std::int64_t> counts{40, 0, 4000, 200, 400};
  DrawScratch scratch;
  ranker.aim_at(counts, scratch);
  EXPECT_GT(bins_in_use(ranker), 200U);
  expect_bins_that_agree(ranker, groups);
  const auto bins = find_all_bins(ranker);
  for (std::size_t id = 0; id < RankedSamples; ++id) {
    ASSERT_EQ(ranker.all_lie_at_one_end(labels[id], counts[labels[id]]),
              labels[id] == 1 || labels[id] == 2);
    ASSERT_TRUE(labels[id] != 1 || bins[id] == 0) << id;
    ASSERT_TRUE(labels[id] != 2 || bins[id] == 255) << id;
  }
  int aims = 0;
  while (ranker.aim_lower(std::vector<std::uint8_t>(RankedClasses), counts)) {
    ASSERT_LT(++aims, 100);
    expect_bins_that_agree(ranker, groups);
  }
  EXPECT_GT(aims, 0);
}

}  // namespace
}  // namespace rcap
