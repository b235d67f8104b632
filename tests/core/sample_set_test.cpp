#include "rcap/core/sample_set.hpp"

#include <gmock/gmock.h>

#include "rcap/core/random_stream.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

SampleSet set_of(std::int64_t sample_count, std::initializer_list<SampleId> ids) {
  SampleSet set(sample_count);
  for (const SampleId id : ids) set.insert(id);
  return set;
}

TEST(SampleSet, ListsItsMembersInAscendingOrder) {
  EXPECT_THAT(set_of(200, {130, 0, 64, 63, 199}).ids(), ElementsAre(0, 63, 64, 130, 199));
  EXPECT_THAT(SampleSet(200).ids(), IsEmpty());
}

TEST(SampleSet, AllHoldsEverySampleAndNoBitBeyond) {
  for (const std::int64_t size : {1, 63, 64, 65, 1000}) {
    const auto all = SampleSet::all(size);
    EXPECT_EQ(all.count(), size);
    EXPECT_EQ(all.ids().back(), size - 1);
  }
}

TEST(SampleSet, EraseTellsWhetherTheSampleWasThere) {
  SampleSet set = set_of(100, {70});
  EXPECT_TRUE(set.erase_present(70));
  EXPECT_FALSE(set.erase_present(70));
  EXPECT_FALSE(set.contains(70));
}

TEST(SampleSet, SubtractsAndUnites) {
  SampleSet set = set_of(100, {1, 2, 99});
  set.subtract(set_of(100, {2, 3}));
  EXPECT_THAT(set.ids(), ElementsAre(1, 99));
  set.unite(set_of(100, {0, 99}));
  EXPECT_THAT(set.ids(), ElementsAre(0, 1, 99));
}

TEST(SampleSet, ListsTheSameWithAnyNumberOfThreads) {
  const RandomStream stream(0, Purpose::Synthetic, 0);
  SampleSet set(1'000'003);
  for (SampleId id = 0; id < set.sample_count(); ++id) {
    if (stream.below(3, id) == 0) set.insert(id);
  }
  const auto ids = set.ids(1);
  EXPECT_EQ(static_cast<std::int64_t>(ids.size()), set.count());
  EXPECT_EQ(ids, set.ids(2));
  EXPECT_EQ(ids, set.ids(7));
}

}  // namespace
}  // namespace rcap
