#include "rcap/core/training_order.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "rcap/core/pruner.hpp"
#include "rcap/core/random_stream.hpp"

namespace rcap {
namespace {

std::vector<SampleId> first_ids(std::int64_t count) {
  std::vector<SampleId> ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

TEST(TrainingOrder, SortsByTheRandomBitsOfOrder) {
  for (const std::int64_t count : {0, 1, 2, 7, 1023, 1024, 100'000, 300'000}) {
    const RandomStream stream(4, Purpose::Order, 9);
    std::vector<std::pair<std::uint64_t, SampleId>> by_bits;
    for (SampleId id = 0; id < count; ++id) by_bits.emplace_back(stream.bits(id), id);
    std::ranges::sort(by_bits);
    std::vector<SampleId> expected;
    for (const auto& [bits, id] : by_bits) expected.push_back(id);
    EXPECT_TRUE(training_order(first_ids(count), 4, 9) == expected) << count;
  }
}

TEST(TrainingOrder, IsThatOfTheWholeDataSetWithTheOthersLeftOut) {
  const auto whole = training_order(first_ids(5000), 0, 1);
  std::vector<SampleId> even;
  for (SampleId id = 0; id < 5000; id += 2) even.push_back(id);
  std::vector<SampleId> expected = whole;
  std::erase_if(expected, [](SampleId id) { return id % 2 != 0; });
  EXPECT_EQ(training_order(even, 0, 1), expected);
}

TEST(TrainingOrder, DiffersBetweenSeedsAndEpochs) {
  const auto ids = first_ids(1000);
  const auto order = training_order(ids, 0, 0);
  EXPECT_NE(order, ids);
  EXPECT_NE(order, training_order(ids, 1, 0));
  EXPECT_NE(order, training_order(ids, 0, 1));
}

TEST(TrainingOrder, TakesWeightsAlong) {
  Selection selection{3, first_ids(1000), {}};
  for (const SampleId id : selection.ids) selection.weights.push_back(static_cast<float>(id));
  const Selection ordered = in_training_order(selection, 8);
  EXPECT_EQ(ordered.epoch, 3);
  EXPECT_EQ(ordered.ids, training_order(selection.ids, 8, 3));
  for (std::size_t i = 0; i < ordered.ids.size(); ++i) {
    ASSERT_EQ(ordered.weights[i], static_cast<float>(ordered.ids[i]));
  }
}

}  // namespace
}  // namespace rcap
