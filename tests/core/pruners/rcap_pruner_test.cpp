#include "rcap/core/pruners/rcap_pruner.hpp"

#include <cmath>
#include <numeric>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "rcap/core/class_budget.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;

using Ids = std::vector<SampleId>;
using Losses = std::vector<float>;

Losses losses_in(const LossMemory& memory, std::int64_t sample_count) {
  Losses losses;
  for (SampleId id = 0; id < sample_count; ++id) losses.push_back(memory.loss(id));
  return losses;
}

std::shared_ptr<const ClassIndex> classes_of(const std::vector<int>& labels, ClassId count = 2) {
  return std::make_shared<const ClassIndex>(labels, count);
}

std::shared_ptr<const ClassIndex> classes_of_sizes(const std::vector<int>& sizes) {
  std::vector<int> labels;
  for (std::size_t j = 0; j < sizes.size(); ++j) {
    labels.insert(labels.end(), static_cast<std::size_t>(sizes[j]), static_cast<int>(j));
  }
  return classes_of(labels, static_cast<ClassId>(sizes.size()));
}

const RcapOptions Paper{.class_share = ClassShare::Paper};

void observe_all(Pruner& pruner, auto loss_of_class) {
  Ids ids(static_cast<std::size_t>(pruner.classes().sample_count()));
  std::iota(ids.begin(), ids.end(), 0);
  Losses losses;
  for (const SampleId id : ids) losses.push_back(loss_of_class(pruner.classes().class_of(id)));
  pruner.observe(ids, losses);
}

TEST(RcapPruner, GoesThroughTheWorkedCycle) {
  // Classes 0 0 0 1 1, K = 3: E = 6.7, 4.5 before training.
  RcapPruner pruner(classes_of({0, 0, 0, 1, 1}), {.pruning_rate = 0.4}, Paper);
  ASSERT_EQ(pruner.keep_count(), 3);
  pruner.observe(Ids{0, 1, 2, 3, 4}, Losses{2.0F, 2.5F, 2.2F, 2.4F, 2.1F});
  EXPECT_THAT(pruner.memory().class_limits(), ElementsAre(2.5F, 2.4F));
  EXPECT_THAT(pruner.class_errors(), ElementsAre(DoubleNear(6.7, 1e-6), DoubleNear(4.5, 1e-6)));
  EXPECT_THAT(pruner.class_counts(), ElementsAre(2, 1));
  const std::vector<double> weights{std::sqrt(0.6 * 6.7), std::sqrt(0.4 * 4.5)};
  EXPECT_THAT(share_budget(pruner.classes().class_sizes(), weights, 3),
              ElementsAre(DoubleNear(1.7973, 5e-5), DoubleNear(1.2027, 5e-5)));

  // The worked numbers go on from 0, 1, 4: find the epoch that draws those.
  std::int64_t epoch = 0;
  while (pruner.select(epoch).ids != Ids{0, 1, 4}) ++epoch;
  // Selections in between observed nothing, so the losses are still the initial ones.
  pruner.observe(Ids{0, 1, 4}, Losses{3.1F, 0.4F, 1.0F});
  EXPECT_THAT(losses_in(pruner.memory(), pruner.classes().sample_count()),
              ElementsAre(2.5F, 0.4F, 2.2F, 2.4F, 1.0F));
  EXPECT_THAT(pruner.class_errors(), ElementsAre(DoubleNear(2.9, 1e-6), DoubleNear(1.0, 1e-6)));
  EXPECT_THAT(pruner.class_counts(), ElementsAre(2, 1));
}

/// Class counts of epoch after epoch when every selected sample of class j has loss l_j.
std::vector<std::vector<std::int64_t>> counts_over_epochs(RcapPruner& pruner, auto loss_of_class,
                                                          int epochs) {
  std::vector<std::vector<std::int64_t>> counts;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const Ids ids = pruner.select(epoch).ids;
    counts.push_back(pruner.classes().count_by_class(ids));
    Losses losses;
    for (const SampleId id : ids) losses.push_back(loss_of_class(pruner.classes().class_of(id)));
    pruner.observe(ids, losses);
  }
  return counts;
}

TEST(RcapPruner, PaperShareTendsToSizeTimesLoss) {
  // n = 851, 149 and losses .3, 1.2: shares 74.06 : 25.94 first, then towards 58.81 : 41.19.
  RcapPruner pruner(classes_of_sizes({851, 149}), {.pruning_rate = 0.9}, Paper);
  const auto loss = [](ClassId j) { return j == 0 ? 0.3F : 1.2F; };
  observe_all(pruner, loss);
  const auto counts = counts_over_epochs(pruner, loss, 12);
  EXPECT_THAT(counts.at(0), ElementsAre(74, 26));
  EXPECT_THAT(counts.at(1), ElementsAre(67, 33));
  EXPECT_THAT(counts.at(2), ElementsAre(63, 37));
  EXPECT_THAT(counts.at(11), ElementsAre(59, 41));
}

TEST(RcapPruner, MassShareTendsToEqualCounts) {
  // Flat importance: 71, 61, 56, ... of 100 fall to the large class, whatever the losses.
  RcapPruner pruner(classes_of_sizes({851, 149}), {.pruning_rate = 0.9},
                    {.class_share = ClassShare::Mass});
  const auto loss = [](ClassId j) { return j == 0 ? 0.3F : 1.2F; };
  observe_all(pruner, loss);
  const auto counts = counts_over_epochs(pruner, loss, 8);
  EXPECT_THAT(counts.at(0), ElementsAre(71, 29));
  EXPECT_THAT(counts.at(1), ElementsAre(61, 39));
  EXPECT_LE(counts.at(7).at(0), 51);
}

TEST(RcapPruner, GroupShareTendsToLossAlone) {
  // Fixed point l_0 : l_1 = .3 : 1.2 of 100 = 20 : 80.
  RcapPruner pruner(classes_of_sizes({851, 149}), {.pruning_rate = 0.9},
                    {.class_share = ClassShare::Group});
  const auto loss = [](ClassId j) { return j == 0 ? 0.3F : 1.2F; };
  observe_all(pruner, loss);
  EXPECT_THAT(counts_over_epochs(pruner, loss, 20).at(19), ElementsAre(20, 80));
}

TEST(RcapPruner, GroupAndPaperShareAgreeOnBalancedData) {
  const auto loss = [](ClassId j) { return static_cast<float>(j + 1); };
  RcapPruner paper(classes_of_sizes({100, 100, 100}), {.pruning_rate = 0.8}, Paper);
  RcapPruner group(classes_of_sizes({100, 100, 100}), {.pruning_rate = 0.8},
                   {.class_share = ClassShare::Group});
  observe_all(paper, loss);
  observe_all(group, loss);
  for (int epoch = 0; epoch < 5; ++epoch) {
    const Ids ids = paper.select(epoch).ids;
    EXPECT_EQ(group.select(epoch).ids, ids);
    Losses losses;
    for (const SampleId id : ids) losses.push_back(loss(paper.classes().class_of(id)) / 2);
    paper.observe(ids, losses);
    group.observe(ids, losses);
  }
}

TEST(RcapPruner, NoClassStarves) {
  // All the loss is in class 0; the others keep one sample each and come back with it.
  RcapPruner pruner(classes_of_sizes({980, 10, 10}), {.pruning_rate = 0.98}, Paper);
  observe_all(pruner, [](ClassId j) { return j == 0 ? 1.0F : 0.0F; });
  for (int epoch = 0; epoch < 5; ++epoch) {
    const Ids ids = pruner.select(epoch).ids;
    EXPECT_THAT(pruner.classes().count_by_class(ids), ElementsAre(18, 1, 1));
    pruner.observe(ids, Losses(ids.size(), 0.5F));
  }
}

TEST(RcapPruner, JudgesAClassWithoutSamplesByItsRememberedLosses) {
  // Without a minimum class 1 may get nothing; its error is then that of its share at its
  // mean loss, 10 * 0.1 = 1 sample of loss 3, and it comes back.
  RcapPruner pruner(classes_of_sizes({90, 10}), {.pruning_rate = 0.9},
                    {.class_share = ClassShare::Paper, .min_per_class = 0});
  observe_all(pruner, [](ClassId j) { return j == 0 ? 1000.0F : 3.0F; });
  EXPECT_THAT(pruner.class_counts(), ElementsAre(10, 0));
  const Ids ids = pruner.select(0).ids;
  pruner.observe(ids, Losses(ids.size(), 0.1F));
  EXPECT_THAT(pruner.class_errors(), ElementsAre(DoubleNear(1.0, 1e-6), DoubleNear(3.0, 1e-6)));
  // sqrt(.9 * 1) : sqrt(.1 * 3) of 10 = 6.34 : 3.66.
  EXPECT_THAT(pruner.class_counts(), ElementsAre(6, 4));
}

TEST(RcapPruner, StartsWithoutAPassWhereInitialLossIsLogC) {
  RcapPruner pruner(classes_of_sizes({60, 30, 10}), {.pruning_rate = 0.8},
                    {.class_share = ClassShare::Paper, .initial_loss = InitialLoss::LogC});
  EXPECT_FALSE(pruner.needs_initial_losses());
  EXPECT_THAT(losses_in(pruner.memory(), pruner.classes().sample_count()),
              Each(FloatNear(std::log(3.0F), 1e-6F)));
  // Equal losses: shares by size, 12 : 6 : 2.
  EXPECT_THAT(pruner.classes().count_by_class(pruner.select(0).ids), ElementsAre(12, 6, 2));
}

TEST(RcapPruner, StartsFromTheMeansOfItsFirstEpochWhereAsked) {
  RcapPruner pruner(classes_of_sizes({40, 20}), {.pruning_rate = 0.8},
                    {.class_share = ClassShare::Group, .initial_loss = InitialLoss::FirstEpoch});
  EXPECT_FALSE(pruner.needs_initial_losses());
  const Ids ids = pruner.select(0).ids;
  EXPECT_THAT(pruner.classes().count_by_class(ids),
              ElementsAre(7, 5));  // by the roots of the sizes
  Losses losses;
  for (const SampleId id : ids) losses.push_back(id < 40 ? 3.0F : static_cast<float>(id));
  pruner.observe(std::span(ids).first(ids.size() - 1), std::span(losses).first(ids.size() - 1));
  (void)pruner.select(1);
  // Four of class 1 were observed.
  const float sum = std::accumulate(losses.end() - 5, losses.end() - 1, 0.0F);
  EXPECT_THAT(pruner.memory().class_limits(), ElementsAre(3, *(losses.end() - 2)));
  for (SampleId id = 0; id < 60; ++id) {
    const auto seen = std::ranges::find(ids.begin(), ids.end() - 1, id);
    const float expected = id < 40                 ? 3.0F
                           : seen == ids.end() - 1 ? sum / 4
                                                   : static_cast<float>(id);
    EXPECT_FLOAT_EQ(pruner.memory().loss(id), expected) << id;
  }
}

const RcapOptions FromFirstEpoch{.class_share = ClassShare::Paper,
                                 .initial_loss = InitialLoss::FirstEpoch};

TEST(RcapPruner, StartsFromLossesOfItsFirstEpochThatComeLate) {
  RcapPruner pruner(classes_of_sizes({40, 20}), {.pruning_rate = 0.8}, FromFirstEpoch);
  const Ids first = pruner.select(0).ids;
  (void)pruner.select(1);
  Losses losses;
  for (const SampleId id : first) losses.push_back(id < 40 ? 3.0F : 1.0F);
  pruner.observe_late(first, losses);
  (void)pruner.select(2);
  EXPECT_THAT(pruner.memory().class_limits(), ElementsAre(3, 1));
  for (SampleId id = 0; id < 60; ++id) EXPECT_EQ(pruner.memory().loss(id), id < 40 ? 3 : 1) << id;
}

TEST(RcapPruner, StartsFromNothingThatItsFirstEpochPassedOver) {
  RcapPruner pruner(classes_of_sizes({40}), {.pruning_rate = 0.8}, FromFirstEpoch);
  const Ids ids = pruner.select(0).ids;
  pruner.pass_over(std::span(ids).first(2));
  pruner.observe(std::span(ids).subspan(2), Losses(ids.size() - 2, 5.0F));
  (void)pruner.select(1);
  EXPECT_THAT(losses_in(pruner.memory(), 40), Each(5));
}

TEST(RcapPruner, ClipsLateLossesOfSamplesThatAreNotSelected) {
  RcapPruner pruner(classes_of_sizes({40}), {.pruning_rate = 0.9}, Paper);
  observe_all(pruner, [](ClassId) { return 2.0F; });
  const Ids ids = pruner.select(0).ids;
  SampleId outside = 0;
  while (std::ranges::binary_search(ids, outside)) ++outside;
  pruner.observe_late(Ids{outside, ids[0]}, Losses{9.0F, 1.5F});
  EXPECT_EQ(pruner.memory().stored_losses()[static_cast<std::size_t>(outside)], 2.0F);
  EXPECT_EQ(pruner.memory().loss(ids[0]), 1.5F);  // until it is observed
  pruner.observe(ids, Losses(ids.size(), 0.5F));
  EXPECT_EQ(pruner.memory().loss(ids[0]), 0.5F);
}

TEST(RcapPruner, ClipsAtLogCWhereAsked) {
  RcapPruner pruner(classes_of({0, 1, 1}), {.pruning_rate = 0.3},
                    {.class_share = ClassShare::Paper, .clip = LossClip::LogC});
  pruner.observe(Ids{0, 1, 2}, Losses{0.1F, 5.0F, 0.5F});
  EXPECT_THAT(losses_in(pruner.memory(), pruner.classes().sample_count()),
              ElementsAre(0.1F, FloatNear(std::log(2.0F), 1e-6F), 0.5F));
}

TEST(RcapPruner, StartsWithoutAPassWhereInitialLossIsANumber) {
  RcapPruner pruner(classes_of_sizes({60, 30}), {.pruning_rate = 0.8},
                    {.class_share = ClassShare::Paper, .initial_loss = 2.5});
  EXPECT_FALSE(pruner.needs_initial_losses());
  EXPECT_FALSE(pruner.takes_initial_losses());
  EXPECT_THAT(losses_in(pruner.memory(), 90), Each(2.5F));
}

/// What it remembers of a loss of 9, of a sample that began with ln 2 or with a number.
float remembered(const RcapOptions& options) {
  RcapPruner pruner(classes_of({0, 1, 1}), {.pruning_rate = 0.3}, options);
  const SampleId id = pruner.select(0).ids.front();
  pruner.observe(Ids{id}, Losses{9});
  (void)pruner.select(1);
  return pruner.memory().stored_losses()[static_cast<std::size_t>(id)];
}

TEST(RcapPruner, ClipsLossesThatBeganWithoutAPassOnlyWhereAsked) {
  const auto log_2 = FloatNear(std::log(2.0F), 1e-6F);
  EXPECT_EQ(remembered({.initial_loss = InitialLoss::LogC}), 9);
  EXPECT_EQ(remembered({.initial_loss = 0.5}), 9);
  EXPECT_EQ(remembered({.initial_loss = InitialLoss::LogC, .clip = LossClip::None}), 9);
  EXPECT_EQ(remembered({.initial_loss = InitialLoss::LogC, .clip = 3.0}), 3);
  EXPECT_EQ(remembered({.initial_loss = 0.5, .clip = LossClip::ClassMax}), 0.5);
  EXPECT_THAT(remembered({.initial_loss = InitialLoss::LogC, .clip = LossClip::LogC}), log_2);
  EXPECT_THAT(remembered({.initial_loss = 4.0, .clip = LossClip::LogC}), log_2);
}

TEST(RcapPruner, ClipsAtANumberOrNotAtAllWhereAsked) {
  RcapPruner at_number(classes_of({0, 1, 1}), {.pruning_rate = 0}, {.clip = 1.5});
  RcapPruner not_at_all(classes_of({0, 1, 1}), {.pruning_rate = 0}, {.clip = LossClip::None});
  for (Pruner* pruner : {static_cast<Pruner*>(&at_number), static_cast<Pruner*>(&not_at_all)}) {
    pruner->observe(Ids{0, 1, 2}, Losses{0.1F, 5, 2});
    (void)pruner->select(0);
    pruner->observe(Ids{0, 1}, Losses{3, 9});
  }
  EXPECT_THAT(losses_in(at_number.memory(), 3), ElementsAre(1.5F, 1.5F, 1.5F));
  EXPECT_THAT(losses_in(not_at_all.memory(), 3), ElementsAre(3, 9, 2));
}

TEST(RcapPruner, ClipsTheNumberThatAllBeginWith) {
  RcapPruner cut(classes_of_sizes({3}), {}, {.initial_loss = 4.0, .clip = 1.5});
  EXPECT_THAT(cut.memory().stored_losses(), Each(1.5F));
}

TEST(RcapPruner, LearnsWithOneClassWhoseLogarithmIsZero) {
  RcapPruner pruner(classes_of_sizes({1000}), {.pruning_rate = 0.5},
                    {.initial_loss = InitialLoss::LogC});
  const Ids first = pruner.select(0).ids;
  Losses losses;
  for (const SampleId id : first) losses.push_back(id % 2 == 0 ? 4.0F : 0.0F);
  pruner.observe(first, losses);
  // Half of them weigh e^4 = 55, all others 1: an even draw would take half of that half again.
  const Ids second = pruner.select(1).ids;
  Ids again;
  std::ranges::set_intersection(first, second, std::back_inserter(again));
  const auto is_hard = [](SampleId id) { return id % 2 == 0; };
  EXPECT_GT(std::ranges::count_if(again, is_hard), 9 * std::ranges::count_if(first, is_hard) / 10);
}

TEST(RcapPruner, TellsWhichPartOfTheLossesWasClipped) {
  for (const RcapOptions& options : {Paper, RcapOptions{}}) {
    RcapPruner pruner(classes_of_sizes({6, 4}), {.pruning_rate = 0.2}, options);
    observe_all(pruner, [](ClassId) { return 1.0F; });
    const Ids ids = pruner.select(0).ids;
    EXPECT_EQ(pruner.clipped_part(), 0);
    // Two of four were too large.
    pruner.observe(std::span(ids).first(4), Losses{3, 1, 2, 0.5F});
    (void)pruner.select(1);
    EXPECT_EQ(pruner.clipped_part(), 0.5);
    (void)pruner.select(2);
    EXPECT_EQ(pruner.clipped_part(), 0);
  }
}

TEST(RcapPruner, TellsNothingOfTheClipAfterAStateWasTakenOver) {
  RcapPruner pruner(classes_of_sizes({6, 4}), {.pruning_rate = 0.2}, Paper);
  observe_all(pruner, [](ClassId) { return 1.0F; });
  const Ids ids = pruner.select(0).ids;
  pruner.observe(ids, Losses(ids.size(), 2));
  (void)pruner.select(1);
  EXPECT_EQ(pruner.clipped_part(), 1);
  pruner.set_state(pruner.state());
  EXPECT_EQ(pruner.clipped_part(), 0);
}

TEST(RcapPruner, PrefersHardSamplesMoreTheColderItIs) {
  std::vector<std::int64_t> hard_counts;
  for (const double beta : {4.0, 1.0, 0.25}) {
    RcapPruner pruner(classes_of(std::vector<int>(1000, 0), 1), {.pruning_rate = 0.9},
                      {.beta = beta, .class_share = ClassShare::Paper});
    Ids ids(1000);
    std::iota(ids.begin(), ids.end(), 0);
    Losses losses;
    for (const SampleId id : ids) losses.push_back(id < 500 ? 1.0F : 2.0F);
    pruner.observe(ids, losses);
    const Ids drawn = pruner.select(0).ids;
    hard_counts.push_back(std::ranges::count_if(drawn, [](SampleId id) { return id >= 500; }));
  }
  EXPECT_LT(hard_counts.at(0), hard_counts.at(1));
  EXPECT_LT(hard_counts.at(1), hard_counts.at(2));
}

TEST(RcapPruner, SelectsAsPinned) {
  // From tools/golden_values.py, which knows only the formulas. The numbers follow from the
  // algorithm alone and change only if it does.
  RcapPruner pruner(classes_of_sizes({20, 10}), {.pruning_rate = 0.8, .seed = 27},
                    {.beta = 0.5, .class_share = ClassShare::Paper});
  Ids ids(30);
  std::iota(ids.begin(), ids.end(), 0);
  Losses losses;
  for (const SampleId id : ids) losses.push_back(0.1F * static_cast<float>(id % 7));
  pruner.observe(ids, losses);
  EXPECT_THAT(pruner.select(0).ids, ElementsAre(4, 8, 10, 12, 24, 27));
  EXPECT_THAT(pruner.select(1).ids, ElementsAre(2, 6, 11, 12, 20, 28));
}

const RcapOptions Robust{.class_share = ClassShare::Robust,
                         .robust = {.allowance = 50, .focus = 1, .lift = 10, .unbias = 30}};

Losses losses_by_id(std::span<const SampleId> ids, float step, SampleId period) {
  Losses losses;
  for (const SampleId id : ids) losses.push_back(step * static_cast<float>(id % period));
  return losses;
}

auto weights_near(const std::vector<float>& weights) {
  return testing::Pointwise(FloatNear(5e-4F), weights);  // chances are off by up to 0.05 %
}

TEST(RobustRcap, SelectsAndWeighsAsPinned) {
  // From tools/golden_values.py, which knows only the formulas.
  RcapPruner pruner(classes_of_sizes({30, 12, 3}), {.pruning_rate = 0.8, .seed = 27}, Robust);
  Ids ids(45);
  std::iota(ids.begin(), ids.end(), 0);
  pruner.observe(ids, losses_by_id(ids, 0.1F, 7));
  Selection selection = pruner.select(0);
  EXPECT_THAT(selection.ids, ElementsAre(8, 10, 23, 24, 28, 38, 40, 41, 42));
  EXPECT_THAT(selection.weights, weights_near({1.014374F, 0.978169F, 0.996002F, 0.978169F,
                                               1.033285F, 1.010404F, 0.997774F, 0.991822F, 1.0F}));
  pruner.observe(selection.ids, losses_by_id(selection.ids, 0.05F, 5));
  selection = pruner.select(1);
  EXPECT_THAT(selection.ids, ElementsAre(6, 12, 20, 30, 37, 41, 42, 43, 44));
  EXPECT_THAT(selection.weights,
              weights_near({0.910166F, 0.971484F, 0.910166F, 0.913247F, 0.913247F, 0.965324F,
                            1.138788F, 1.138788F, 1.138788F}));
  pruner.observe(selection.ids, losses_by_id(selection.ids, 0.05F, 5));
  EXPECT_THAT(pruner.class_errors(), ElementsAre(DoubleNear(1.703789, 1e-3), DoubleNear(3.9, 2e-3),
                                                 DoubleNear(45.45, 1e-2)));
}

TEST(RobustRcap, IsTheGroupRuleWithoutItsCures) {
  // No allowance, no lift, no weights; and at a high temperature every chance is the same.
  const auto loss = [](ClassId j) { return j == 0 ? 0.3F : 1.2F; };
  RcapOptions plain = Robust;
  plain.beta = 1000;
  plain.robust = {.allowance = 0, .focus = 1, .lift = 1, .unbias = std::nullopt};
  RcapPruner robust(classes_of_sizes({851, 149}), {.pruning_rate = 0.9}, plain);
  RcapPruner group(classes_of_sizes({851, 149}), {.pruning_rate = 0.9},
                   {.beta = 1000, .class_share = ClassShare::Group});
  observe_all(robust, loss);
  observe_all(group, loss);
  EXPECT_EQ(counts_over_epochs(robust, loss, 10), counts_over_epochs(group, loss, 10));
  EXPECT_THAT(robust.select(10).weights, testing::IsEmpty());
}

TEST(RobustRcap, WeighsNothingWhereNothingIsPruned) {
  RcapPruner pruner(classes_of_sizes({50, 5}), {.pruning_rate = 0}, Robust);
  observe_all(pruner, [](ClassId j) { return static_cast<float>(j + 1); });
  EXPECT_EQ(pruner.select(0).ids.size(), 55U);
  EXPECT_THAT(pruner.select(0).weights, testing::IsEmpty());
}

TEST(RobustRcap, GivesAFullClassThatWantsMoreAHeavierHand) {
  RcapPruner pruner(classes_of_sizes({990, 10}), {.pruning_rate = 0.5}, Robust);
  const auto loss = [](ClassId j) { return j == 0 ? 0.1F : 2.0F; };
  observe_all(pruner, loss);
  counts_over_epochs(pruner, loss, 3);
  const Selection selection = pruner.select(3);
  const auto rare =
      static_cast<std::size_t>(std::ranges::find(selection.ids, 990) - selection.ids.begin());
  ASSERT_LT(rare, selection.ids.size());
  EXPECT_GT(selection.weights.at(rare), 5);
  const double sum = std::accumulate(selection.weights.begin(), selection.weights.end(), 0.0);
  EXPECT_NEAR(sum / static_cast<double>(selection.ids.size()), 1, 1e-5);
}

TEST(RobustRcap, CountsItsWeightsInThePrior) {
  // The class of 10 is taken whole and lifted: its part is that of its weights, far above 10 / 500.
  RcapPruner pruner(classes_of_sizes({990, 10}), {.pruning_rate = 0.5}, Robust);
  observe_all(pruner, [](ClassId j) { return j == 0 ? 0.1F : 2.0F; });
  const Selection selection = pruner.select(0);
  ASSERT_EQ(pruner.classes().count_by_class(selection.ids), (std::vector<std::int64_t>{490, 10}));
  const double lifted = selection.weights.back() * 10.0;
  const double others = selection.weights.front() * 490.0;
  EXPECT_GT(lifted, 50);
  EXPECT_THAT(pruner.log_prior(),
              ElementsAre(DoubleNear(std::log(others / (others + lifted)), 1e-14),
                          DoubleNear(std::log(lifted / (others + lifted)), 1e-14)));
}

TEST(RobustRcap, GoesByToldErrorsOfClassesWhereThereAreAny) {
  RcapPruner pruner(classes_of_sizes({100, 100}), {.pruning_rate = 0.9}, Robust);
  observe_all(pruner, [](ClassId) { return 1.0F; });
  EXPECT_THAT(pruner.class_counts(), ElementsAre(10, 10));
  // 100 times .1 and 100 times .9: weights 1 : 3.
  pruner.observe_classes(std::vector<double>{0.1, 0.9});
  EXPECT_THAT(pruner.class_errors(), ElementsAre(DoubleNear(10, 1e-5), DoubleNear(90, 1e-5)));
  EXPECT_THAT(pruner.class_counts(), ElementsAre(5, 15));
  RcapPruner resumed(classes_of_sizes({100, 100}), {.pruning_rate = 0.9}, Robust);
  resumed.set_state(pruner.state());
  EXPECT_THAT(resumed.class_counts(), ElementsAre(5, 15));
}

TEST(RobustRcap, GoesOnFromASelectionOfAnotherRun) {
  // One run took most of class 0 and the other most of class 1, which the next budgets follow.
  const auto classes = classes_of_sizes({100, 100});
  RcapPruner pruner(classes, {.pruning_rate = 0.5}, Robust);
  RcapPruner other(classes, {.pruning_rate = 0.5}, Robust);
  const auto count_of_0 = [&](const Selection& selection) {
    return classes->count_by_class(selection.ids).front();
  };
  observe_all(pruner, [](ClassId j) { return j == 0 ? 2.0F : 0.1F; });
  observe_all(other, [](ClassId j) { return j == 0 ? 0.1F : 2.0F; });
  EXPECT_GT(count_of_0(pruner.select(0)), count_of_0(other.select(0)));
  pruner.set_state(other.state());
  EXPECT_EQ(pruner.select(1).ids, other.select(1).ids);
}

TEST(RobustRcap, RefusesErrorsOfClassesThatCannotBe) {
  RcapPruner pruner(classes_of_sizes({10, 10}), {.pruning_rate = 0.5}, Robust);
  const auto refusal = [](Pruner& asked, const std::vector<double>& errors) {
    return message_of<InvalidArgument>([&] { asked.observe_classes(errors); });
  };
  EXPECT_EQ(refusal(pruner, {1}), "observe_classes: 1 errors for 2 classes; give one per class");
  EXPECT_THAT(refusal(pruner, {1, -0.5}), HasSubstr("the error of class 1 is -0.5; errors must"));
  EXPECT_THAT(refusal(pruner, {std::nan(""), 1}), HasSubstr("the error of class 0 is nan"));
  RcapPruner paper(classes_of_sizes({10, 10}), {.pruning_rate = 0.5},
                   {.class_share = ClassShare::Paper});
  EXPECT_THAT(refusal(paper, {1, 1}), HasSubstr("rcap with class_share robust does"));
  observe_all(pruner, [](ClassId) { return 1.0F; });
  EXPECT_THAT(pruner.class_counts(), ElementsAre(5, 5));  // nothing was changed
}

TEST(RobustRcap, FollowsTheScaleOfLossesWhereBetaIsAuto) {
  RcapOptions automatic = Robust;
  automatic.beta = std::nullopt;
  Ids ids(600);
  std::iota(ids.begin(), ids.end(), 0);
  std::vector<Selection> plain;
  for (const float scale : {1.0F, 8.0F, 0.125F}) {  // powers of two: not a bit of a loss is lost
    RcapPruner pruner(classes_of_sizes({500, 100}), {.pruning_rate = 0.9}, automatic);
    pruner.observe(ids, losses_by_id(ids, 0.25F * scale, 13));
    for (int epoch = 0; epoch < 4; ++epoch) {
      const Selection selection = pruner.select(epoch);
      if (scale == 1) plain.push_back(selection);
      EXPECT_EQ(selection.ids, plain.at(static_cast<std::size_t>(epoch)).ids) << scale;
      pruner.observe(selection.ids, losses_by_id(selection.ids, 0.125F * scale, 11));
    }
  }
}

TEST(RobustRcap, DrawsEvenlyWhereBetaIsAutoAndAllLossesAreEqual) {
  RcapOptions automatic = Robust;
  automatic.beta = std::nullopt;
  RcapPruner pruner(classes_of_sizes({50, 50}), {.pruning_rate = 0.8}, automatic);
  observe_all(pruner, [](ClassId) { return 0.7F; });
  RcapOptions hot = Robust;
  hot.beta = 1000;
  RcapPruner even(classes_of_sizes({50, 50}), {.pruning_rate = 0.8}, hot);
  observe_all(even, [](ClassId) { return 0.0F; });
  EXPECT_EQ(pruner.select(0).ids, even.select(0).ids);
}

// Class shares of `ShareRule`.

TEST(RcapByRule, SelectsAndWeighsAsPinned) {
  // From tools/golden_values.py, which knows only the formulas.
  RcapPruner pruner(
      classes_of_sizes({30, 12, 3}), {.pruning_rate = 0.8, .seed = 27},
      {.class_share = ClassShare::GroupDro, .clip = LossClip::None, .share = {.eta = 2}});
  Ids ids(45);
  std::iota(ids.begin(), ids.end(), 0);
  pruner.observe(ids, losses_by_id(ids, 0.1F, 7));
  const std::vector<Ids> expected_ids{{8, 10, 24, 33, 38, 40, 41, 42, 44},
                                      {6, 20, 30, 33, 37, 41, 42, 43, 44},
                                      {12, 18, 32, 33, 36, 41, 42, 43, 44},
                                      {6, 30, 31, 32, 33, 39, 42, 43, 44}};
  const std::vector<std::pair<float, float>> expected_weights{
      {1, 1}, {0.884639F, 1.230723F}, {0.549612F, 1.900777F}, {0.329329F, 2.341342F}};
  for (std::size_t epoch = 0; epoch < 4; ++epoch) {
    const Selection selection = pruner.select(static_cast<std::int64_t>(epoch));
    EXPECT_EQ(selection.ids, expected_ids[epoch]);
    if (epoch == 0) {
      EXPECT_THAT(selection.weights, testing::IsEmpty());
    } else {
      EXPECT_NEAR(selection.weights.front(), expected_weights[epoch].first, 1e-3);
      EXPECT_NEAR(selection.weights.back(), expected_weights[epoch].second, 1e-3);
    }
    Losses losses;
    for (const SampleId id : selection.ids) {
      const int class_id = pruner.classes().class_of(id);
      losses.push_back(0.1F * static_cast<float>(id % 5 + 2 * class_id));
    }
    pruner.observe(selection.ids, losses);
  }
  EXPECT_THAT(pruner.class_errors(), ElementsAre(DoubleNear(0.1, 1e-3), DoubleNear(0.391228, 1e-3),
                                                 DoubleNear(0.7, 1e-3)));
}

TEST(RcapByRule, TakesLossesBeforeTheFirstEpochOrDoesWithout) {
  const RcapOptions options{.class_share = ClassShare::Power,
                            .share = {.size_power = 0, .loss_power = 1}};
  const auto loss = [](ClassId j) { return j == 0 ? 1.0F : 2.0F; };
  RcapPruner with(classes_of_sizes({100, 100}), {.pruning_rate = 0.85}, options);
  EXPECT_FALSE(with.needs_initial_losses());
  observe_all(with, loss);
  EXPECT_THAT(with.class_counts(), ElementsAre(10, 20));
  RcapPruner without(classes_of_sizes({100, 100}), {.pruning_rate = 0.85}, options);
  EXPECT_THAT(without.classes().count_by_class(without.select(0).ids), ElementsAre(15, 15));
  EXPECT_THAT(counts_over_epochs(without, loss, 2).back(), ElementsAre(10, 20));
}

TEST(RcapByRule, LearnsNothingFromTheNumberThatAllBeginWith) {
  // ln 2 exceeds the reference of class 0, but it is no loss.
  RcapPruner pruner(classes_of_sizes({100, 100}), {.pruning_rate = 0.85},
                    {.class_share = ClassShare::Domain,
                     .initial_loss = InitialLoss::LogC,
                     .share = {.eta = 10, .reference_losses = {0, 1}}});
  EXPECT_THAT(pruner.class_counts(), ElementsAre(15, 15));
  EXPECT_THAT(counts_over_epochs(
                  pruner, [](ClassId) { return 0.5F; }, 1)
                  .back(),
              ElementsAre(15, 15));
  // A factor of exp(10 * 0.5) is 148: all but one of 30, and one in ten thousand is even.
  EXPECT_THAT(pruner.class_counts(), ElementsAre(29, 1));
}

TEST(RcapByRule, ForetellsTheCountsOfTheNextEpochWithoutLearning) {
  for (const ClassShare share : {ClassShare::Power, ClassShare::Progressive, ClassShare::Deferred,
                                 ClassShare::GroupDro, ClassShare::Bandit}) {
    RcapPruner pruner(
        classes_of_sizes({400, 200, 50}), {.pruning_rate = 0.8},
        {.class_share = share,
         .share = {.loss_power = 1, .effective_beta = 0.99, .turns = 50, .epochs = 5}});
    for (int epoch = 0; epoch < 6; ++epoch) {
      const auto foretold = pruner.class_counts();
      EXPECT_EQ(pruner.class_counts(), foretold);
      const Ids ids = pruner.select(epoch).ids;
      EXPECT_EQ(pruner.classes().count_by_class(ids), foretold) << epoch;
      pruner.observe(ids, losses_by_id(ids, 0.1F, 7 + epoch));
    }
  }
}

TEST(RcapByRule, JudgesAClassWithoutSamplesByItsRememberedLosses) {
  // Class 1 begins with a loss of 2; it gets nothing in epoch 0, as its power of 10 is tiny beside
  // that of class 0. Then class 0 has no loss left, and class 1 is remembered.
  RcapPruner pruner(classes_of_sizes({100, 10}), {.pruning_rate = 0.9},
                    {.class_share = ClassShare::Power,
                     .min_per_class = 0,
                     .share = {.size_power = 0, .loss_power = 10}});
  observe_all(pruner, [](ClassId j) { return j == 0 ? 20.0F : 2.0F; });
  const Ids ids = pruner.select(0).ids;
  EXPECT_THAT(pruner.classes().count_by_class(ids), ElementsAre(11, 0));
  pruner.observe(ids, Losses(ids.size(), 0.0F));
  EXPECT_THAT(pruner.class_errors(), ElementsAre(DoubleNear(0, 0), DoubleNear(2, 1e-6)));
  EXPECT_THAT(pruner.class_counts(), ElementsAre(1, 10));
}

TEST(RcapByRule, GoesByToldErrorsOfClassesWhereTheRuleReadsLosses) {
  RcapPruner reads(classes_of_sizes({100, 100}), {.pruning_rate = 0.85},
                   {.class_share = ClassShare::Power, .share = {.size_power = 0, .loss_power = 1}});
  reads.observe_classes(std::vector<double>{1, 2});
  EXPECT_THAT(reads.class_counts(), ElementsAre(10, 20));
  RcapPruner does_not(classes_of_sizes({100, 100}), {}, {.class_share = ClassShare::Power});
  EXPECT_THAT(message_of<InvalidArgument>([&] {
                does_not.observe_classes(std::vector<double>{1, 2});
              }),
              HasSubstr("rcap does not use class errors here"));
}

TEST(RcapByRule, TellsWhichSharesAnOptionIsFor) {
  RcapOptions options;
  OptionFields fields;
  list_options(fields, options);
  const auto refusal = [&](std::string_view share, std::string_view name) {
    fields.find("class_share")->set(share);
    return message_of<InvalidArgument>([&] { fields.find(name)->set("2"); });
  };
  EXPECT_EQ(refusal("robust", "eta"), "eta is for the class shares group-dro and domain");
  EXPECT_EQ(refusal("group-dro", "focus"), "focus is for the class share robust");
  EXPECT_EQ(refusal("mass", "lift"), "lift is not for the class shares paper, mass and group");
  EXPECT_EQ(refusal("power", "effective_beta"),
            "effective_beta is for the class shares effective-number and deferred");
  fields.find("class_share")->set("bandit");
  fields.find("lift")->set("2");
  EXPECT_EQ(options.robust.lift, 2);
}

TEST(RcapByRule, AsksForTheEpochsOfTheRunWhereTheRuleFollowsThem) {
  EXPECT_THAT(message_of<InvalidArgument>([] {
                const RcapPruner pruner(classes_of_sizes({2, 2}), {},
                                        {.class_share = ClassShare::Progressive});
              }),
              HasSubstr("class_share progressive: epochs is missing"));
}

}  // namespace
}  // namespace rcap
