#include "core/sample_weights.hpp"

#include <cmath>
#include <numeric>

#include <gmock/gmock.h>

#include "core/times_tried.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Ids = std::vector<SampleId>;
using Weights = std::vector<float>;

auto weight_near(float value) { return testing::FloatNear(value, 5e-4F); }

std::vector<InverseChance> inverses_from(const Weights& values) {
  std::vector<InverseChance> inverses;
  for (const float value : values) inverses.emplace_back(value);
  return inverses;
}

Weights weigh(const ClassIndex& classes, const Ids& ids, const Weights& inverses,
              const Weights& lifts, const Weights& exponents, int threads = 1) {
  Weights weights;
  std::vector<InverseChance> known = inverses_from(inverses);
  weigh_samples(classes, ids, nullptr, known, {classes.count_by_class(ids), lifts, exponents},
                threads, weights);
  return weights;
}

/// One over the chances of samples that were just drawn.
std::vector<InverseChance> chances_of(const ClassIndex& classes, const Ids& ids,
                                      const FreshDraw& draw) {
  std::vector<InverseChance> inverses(ids.size());
  const Weights ones(draw.thresholds.size(), 1), zeros(draw.thresholds.size(), 0);
  Weights weights;
  weigh_samples(classes, ids, &draw, inverses, {classes.count_by_class(ids), ones, zeros}, 1,
                weights);
  return inverses;
}

TEST(WeighSamples, HasTheWorkedWeights) {
  const ClassIndex classes(std::vector<int>{0, 0, 0});
  const Weights inverses{1.581977F, 1.070650F};
  EXPECT_THAT(weigh(classes, {1, 2}, inverses, {1}, {1}),
              ElementsAre(weight_near(1.192762F), weight_near(0.807238F)));
  EXPECT_THAT(weigh(classes, {1, 2}, inverses, {1}, {0.5F}),
              ElementsAre(weight_near(1.097294F), weight_near(0.902706F)));
}

TEST(SumAlikeWeights, IsTheSumOfTheWeights) {
  // Lifts 1 and 3 of two samples each: 4 / 8 and 12 / 8 for a sample, the double for the class.
  const ClassIndex classes(std::vector<int>{0, 0, 1, 1});
  const Weights lifts{1, 3}, exponents{0, 0};
  EXPECT_THAT(weigh(classes, {0, 1, 2, 3}, Weights(4, 1), lifts, exponents),
              ElementsAre(0.5F, 0.5F, 1.5F, 1.5F));
  const std::vector<std::int64_t> counts{2, 2};
  EXPECT_TRUE(alike_in_classes({counts, lifts, exponents}));
  EXPECT_THAT(sum_alike_weights({counts, lifts, exponents}), ElementsAre(1, 3));
  EXPECT_FALSE(alike_in_classes({counts, lifts, Weights{0, 0.5F}}));
}

TEST(WeighSamples, LiftsClassesAndAveragesOne) {
  // Counts 29, 61 and 10 with lifts 1, 1 and 3.379626: the others fall to 0.80778.
  std::vector<int> labels(29, 0);
  labels.insert(labels.end(), 61, 1);
  labels.insert(labels.end(), 10, 2);
  const ClassIndex classes(labels);
  Ids ids(100);
  std::iota(ids.begin(), ids.end(), 0);
  const Weights weights = weigh(classes, ids, Weights(100, 1), {1, 1, 3.379626F}, {0.9F, 0.1F, 0});
  EXPECT_THAT(weights.front(), weight_near(0.80778F));
  EXPECT_THAT(weights.back(), weight_near(2.72999F));
  EXPECT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), 100, 1e-4);
  // Without exponents chances do not matter.
  EXPECT_EQ(weigh(classes, ids, Weights(100, 7), {1, 1, 3.379626F}, {0, 0, 0}), weights);
}

TEST(WeighSamples, HoldsBackOneThatWasDrawnAgainstTheOdds) {
  const ClassIndex classes(std::vector<int>(50, 0));
  Ids ids(50);
  std::iota(ids.begin(), ids.end(), 0);
  Weights inverses(50, 1);
  inverses.front() = 1e6F;
  const Weights weights = weigh(classes, ids, inverses, {1}, {1});
  // Ten times the mean before all were divided by it; the others keep next to nothing.
  EXPECT_THAT(weights.front(), weight_near(50 * 10 / (10 + 49 * 50 / 1e6F)));
}

TEST(WeighSamples, GivesNothingWhereAllAreOne) {
  const ClassIndex classes(std::vector<int>{0, 1});
  EXPECT_THAT(weigh(classes, {0, 1}, {1, 5}, {1, 1}, {0, 0}), IsEmpty());
}

TEST(WeighSamples, DoesNotDependOnThreads) {
  const RandomStream random(3, Purpose::Synthetic, 0);
  std::vector<int> labels;
  Ids ids;
  Weights inverses;
  for (SampleId id = 0; id < 50'000; ++id) {
    labels.push_back(static_cast<int>(random.below(7, id)));
    ids.push_back(id);
    inverses.push_back(static_cast<float>(1 / random.uniform(id)));
  }
  const ClassIndex classes(labels);
  const Weights lifts(7, 2), exponents(7, 0.3F);
  const Weights expected = weigh(classes, ids, inverses, lifts, exponents);
  EXPECT_EQ(weigh(classes, ids, inverses, lifts, exponents, 2), expected);
  EXPECT_EQ(weigh(classes, ids, inverses, lifts, exponents, 7), expected);
}

/// Mean and standard error of what many draws of 4 from 12 say the sum of `values` is.
struct Estimates {
  double weighted = 0, weighted_error = 0;  ///< each value by one over its chance
  double plain = 0, plain_error = 0;        ///< 12 times the mean of the drawn
};

Estimates estimate_sum(std::span<const float> losses, std::span<const double> values, double beta) {
  constexpr int Draws = times_tried(100'000);
  const ClassIndex classes(std::vector<int>(12, 0));
  double weighted = 0, weighted_squares = 0, plain = 0, plain_squares = 0;
  DrawScratch scratch;
  for (int epoch = 0; epoch < Draws; ++epoch) {
    const RandomStream stream(8, Purpose::Selection, epoch);
    const std::vector<std::int64_t> four{4};
    const SampleSet drawn = draw_weighted(classes, {losses, beta}, four, stream, 1, &scratch);
    double sum = 0, mean = 0;
    const Ids ids = drawn.ids();
    const auto inverses = chances_of(classes, ids, {{losses, beta}, scratch.thresholds});
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const double value = values[static_cast<std::size_t>(ids[i])];
      sum += value * static_cast<double>(inverses[i].value());
      mean += value * 3;
    }
    weighted += sum;
    weighted_squares += sum * sum;
    plain += mean;
    plain_squares += mean * mean;
  }
  const auto error = [](double total, double squares) {
    return std::sqrt((squares / Draws - total / Draws * (total / Draws)) / Draws);
  };
  return {weighted / Draws, error(weighted, weighted_squares), plain / Draws,
          error(plain, plain_squares)};
}

TEST(InverseChancesOfADraw, MakeSumsUnbiasedWherePlainMeansAreNot) {
  std::vector<float> losses;
  std::vector<double> values;
  for (int i = 0; i < 12; ++i) {
    losses.push_back(0.25F * static_cast<float>(i));
    values.push_back(1 + 0.3 * i);
  }
  const double truth = std::accumulate(values.begin(), values.end(), 0.0);
  for (const double beta : {0.3, 1.0, 3.0}) {
    const Estimates found = estimate_sum(losses, values, beta);
    EXPECT_NEAR(found.weighted, truth, 5 * found.weighted_error) << beta;
    EXPECT_GT(std::abs(found.plain - truth), 5 * found.plain_error) << beta;
  }
}

TEST(InverseChancesOfADraw, AreThoseOfTheThreshold) {
  const std::vector<float> losses{0, 1, 2, 0.5F};
  const ClassIndex classes(std::vector<int>{0, 0, 0, 1});
  const std::vector<double> thresholds{1, -std::numeric_limits<double>::infinity()};
  EXPECT_EQ(chances_of(classes, {1, 2, 3}, {{losses, 1}, thresholds}),
            inverses_from({1.581977F, 1.070650F, 1}));
}

}  // namespace
}  // namespace rcap
