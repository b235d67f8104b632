#include "rcap/core/loss_memory.hpp"

#include <cmath>
#include <numeric>

#include <gmock/gmock.h>

#include "rcap/core/random_stream.hpp"

namespace rcap {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

using Ids = std::vector<SampleId>;
using Losses = std::vector<float>;

Losses losses_in(const LossMemory& memory, std::int64_t sample_count) {
  Losses losses;
  for (SampleId id = 0; id < sample_count; ++id) losses.push_back(memory.loss(id));
  return losses;
}

std::shared_ptr<const ClassIndex> classes_of(const std::vector<int>& labels) {
  return std::make_shared<const ClassIndex>(labels);
}

TEST(LossMemory, ClipsAtTheFirstMaximumOfTheClass) {
  LossMemory memory(classes_of({0, 0, 0, 1, 1}));
  memory.record_initial(Ids{0, 1, 2, 3, 4}, Losses{2.0F, 2.5F, 2.2F, 2.4F, 2.1F});
  EXPECT_THAT(memory.class_limits(), ElementsAre(2.5F, 2.4F));
  memory.record(Ids{0, 1, 4}, Losses{3.1F, 0.4F, 1.0F});
  EXPECT_THAT(losses_in(memory, 5), ElementsAre(2.5F, 0.4F, 2.2F, 2.4F, 1.0F));
  // Read clipped before and after they are clipped in place.
  EXPECT_THAT(memory.clip(SampleSet::all(5)),
              ElementsAre(DoubleNear(5.1, 1e-6), DoubleNear(3.4, 1e-6)));
  EXPECT_THAT(memory.stored_losses(), ElementsAre(2.5F, 0.4F, 2.2F, 2.4F, 1.0F));
}

TEST(LossMemory, SumsTheLossesOfMembersByClass) {
  LossMemory memory(classes_of({0, 0, 0, 1, 1}));
  memory.record_initial(Ids{0, 1, 2, 3, 4}, Losses{1, 2, 4, 8, 16});
  SampleSet some(5);
  for (const SampleId id : {0, 2, 4}) some.insert(id);
  EXPECT_THAT(memory.class_sums(some), ElementsAre(5, 16));
  EXPECT_THAT(memory.class_sums(SampleSet::all(5)), ElementsAre(7, 24));
  EXPECT_THAT(memory.class_sums(SampleSet(5)), ElementsAre(0, 0));
}

TEST(LossMemory, MassIsThePartOfTheSoftmaxOnMembers) {
  // softmax(0, 1, 2) = .090031, .244728, .665241 at beta 1; .186324, .307196, .506480 at 2.
  LossMemory memory(classes_of({0, 0, 0, 1}));
  memory.record_initial(Ids{0, 1, 2, 3}, Losses{0, 1, 2, 9});
  SampleSet some(4);
  some.insert(0);
  some.insert(2);
  EXPECT_THAT(memory.class_masses(some, 1),
              ElementsAre(DoubleNear(0.090031 + 0.665241, 1e-6), 0.0));
  EXPECT_THAT(memory.class_masses(some, 2),
              ElementsAre(DoubleNear(0.186324 + 0.506480, 1e-6), 0.0));
  EXPECT_THAT(memory.class_masses(some, 0.5),
              ElementsAre(DoubleNear(0.015876 + 0.866813, 1e-6), 0.0));
  EXPECT_THAT(memory.class_masses(SampleSet::all(4), 1), ElementsAre(1, 1));
}

TEST(LossMemory, MassStandsHugeLosses) {
  LossMemory memory(classes_of({0, 0}));
  memory.record_initial(Ids{0, 1}, Losses{3e38F, 3e38F});
  SampleSet one(2);
  one.insert(1);
  EXPECT_THAT(memory.class_masses(one, 1e-3), ElementsAre(0.5));
}

TEST(LossMemory, SumsAreTheSameBitsWithAnyNumberOfThreads) {
  constexpr SampleId Samples = 300'000;
  const RandomStream random(0, Purpose::Synthetic, 0);
  std::vector<int> labels;
  Losses losses;
  Ids ids(Samples);
  std::iota(ids.begin(), ids.end(), 0);
  SampleSet some(Samples);
  for (const SampleId id : ids) {
    labels.push_back(static_cast<int>(random.below(13, id)));
    losses.push_back(static_cast<float>(random.uniform(id)));
    if (random.below(5, id) < 2) some.insert(id);
  }
  LossMemory memory(classes_of(labels));
  memory.record_initial(ids, losses);
  for (const int threads : {2, 7}) {
    EXPECT_EQ(memory.class_sums(some, threads), memory.class_sums(some, 1));
    EXPECT_EQ(memory.class_masses(some, 0.3, threads), memory.class_masses(some, 0.3, 1));
  }
}

TEST(LossMemory, ClipsAndCountsTheSameWithAnyNumberOfThreads) {
  constexpr SampleId Samples = 300'000;
  // A number of a stream is the same one whatever its range: one stream for each quantity.
  const RandomStream random(1, Purpose::Synthetic, 0);
  const RandomStream members(2, Purpose::Synthetic, 0);
  const RandomStream standing_for(3, Purpose::Synthetic, 0);
  const RandomStream of_class(4, Purpose::Synthetic, 0);
  std::vector<int> labels;
  Losses losses;
  Ids ids(Samples);
  std::iota(ids.begin(), ids.end(), 0);
  SampleSet some(Samples);
  std::vector<InverseChance> weights;
  std::int64_t above = 0;
  for (const SampleId id : ids) {
    labels.push_back(static_cast<int>(of_class.below(13, id)));
    losses.push_back(static_cast<float>(2 * random.uniform(id)));
    if (members.below(5, id) >= 2) continue;
    some.insert(id);
    weights.emplace_back(static_cast<float>(1 + standing_for.below(9, id)));
    above += static_cast<std::int64_t>(losses.back() > 1);
  }
  ASSERT_GT(above, 0);
  std::vector<ClassLoss> expected;
  for (const int threads : {1, 2, 7}) {
    LossMemory memory(classes_of(labels));
    memory.fix_limits(1);
    memory.record(ids, losses);
    if (threads == 1) expected = memory.class_losses(some, weights);
    const std::vector<ClassLoss> found = memory.clip(some, weights, threads);
    EXPECT_EQ(memory.cut_count(), above);
    for (std::size_t j = 0; j < found.size(); ++j) {
      EXPECT_EQ(found[j].sum, expected.at(j).sum);
      EXPECT_EQ(found[j].weight, expected.at(j).weight);
    }
    for (const SampleId id : some.ids()) {
      const auto place = static_cast<std::size_t>(id);
      ASSERT_EQ(memory.stored_losses()[place], std::min(losses[place], 1.0F));
    }
  }
}

}  // namespace
}  // namespace rcap
