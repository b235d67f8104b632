#include "rcap/core/weighted_draw.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "core/times_tried.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Counts = std::vector<std::int64_t>;

ClassIndex one_class(std::size_t sample_count) {
  return ClassIndex(std::vector<int>(sample_count));
}

/// The probability that successive sampling of `count` draws exactly `set`: the sum over
/// all orders in which it can come.
double set_probability(const std::vector<double>& weights, std::vector<SampleId> set) {
  std::ranges::sort(set);
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double sum = 0;
  do {
    double left = total;
    double probability = 1;
    for (const SampleId id : set) {
      probability *= weights[static_cast<std::size_t>(id)] / left;
      left -= weights[static_cast<std::size_t>(id)];
    }
    sum += probability;
  } while (std::ranges::next_permutation(set).found);
  return sum;
}

std::vector<double> softmax_weights(const std::vector<float>& losses, double beta) {
  std::vector<double> weights;
  for (const float loss : losses) weights.push_back(std::exp(static_cast<double>(loss) / beta));
  return weights;
}

/// Draws many times and compares how often each set came with its exact probability.
void expect_exact_distribution(const std::vector<float>& losses, double beta, std::int64_t count) {
  constexpr int Epochs = times_tried(40'000);
  const ClassIndex classes = one_class(losses.size());
  std::map<std::vector<SampleId>, int> times;
  for (int epoch = 0; epoch < Epochs; ++epoch) {
    const RandomStream stream(11, Purpose::Selection, epoch);
    ++times[draw_weighted(classes, {losses, beta}, Counts{count}, stream).ids()];
  }
  const auto weights = softmax_weights(losses, beta);
  double probability_seen = 0;
  for (const auto& [set, seen] : times) {
    const double p = set_probability(weights, set);
    probability_seen += p;
    // Five standard errors (and one count, for sets that are hardly ever drawn): below one
    // false alarm in ten thousand over all sets tested here; the seed is fixed.
    EXPECT_NEAR(seen, Epochs * p, 5 * std::sqrt(Epochs * p * (1 - p)) + 1)
        << testing::PrintToString(set);
  }
  EXPECT_GT(probability_seen, 0.999);
}

TEST(DrawWeighted, HasTheDistributionOfSuccessiveSampling) {
  expect_exact_distribution({0, 1, 2}, 1.0, 2);
  expect_exact_distribution({0, 1, 2}, 0.5, 1);
  expect_exact_distribution({0.3F, 2.0F, 0.0F, 1.1F, 4.0F, 0.7F}, 2.0, 3);
  expect_exact_distribution({1, 1, 1, 1, 1}, 1.0, 4);
}

TEST(DrawWeighted, HasTheWorkedInclusionProbabilities) {
  // phi = 0, 1, 2 and beta = 1: pairs .053385, .244728, .701886.
  const auto weights = softmax_weights({0, 1, 2}, 1);
  EXPECT_NEAR(set_probability(weights, {0, 1}), 0.053385, 5e-7);
  EXPECT_NEAR(set_probability(weights, {0, 2}), 0.244728, 5e-7);
  EXPECT_NEAR(set_probability(weights, {1, 2}), 0.701886, 5e-7);
  const ClassIndex classes = one_class(3);
  const std::vector<float> losses{0, 1, 2};
  constexpr int Epochs = times_tried(40'000);
  std::array<int, 3> drawn{};
  for (int epoch = 0; epoch < Epochs; ++epoch) {
    const RandomStream stream(5, Purpose::Selection, epoch);
    for (const SampleId id : draw_weighted(classes, {losses, 1.0}, Counts{2}, stream).ids()) {
      ++drawn.at(static_cast<std::size_t>(id));
    }
  }
  const std::array expected{0.298114, 0.755272, 0.946615};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(drawn.at(i), Epochs * expected.at(i),
                5 * std::sqrt(Epochs * expected.at(i) * (1 - expected.at(i))));
  }
}

struct SortedDraw {
  std::vector<SampleId> ids;
  std::vector<double> thresholds;
};

/// What `draw_weighted` must give: all keys, a full sort, the best of each class, and the key of
/// the next one.
SortedDraw draw_by_sorting(const ClassIndex& classes, const LossWeights& weights,
                           const Counts& counts, const RandomStream& stream) {
  std::vector<std::tuple<double, std::uint64_t, SampleId>> ranked;
  for (SampleId id = 0; id < classes.sample_count(); ++id) {
    const std::uint64_t bits = stream.bits(id);
    const float loss = weights.losses[static_cast<std::size_t>(id)];
    ranked.emplace_back(-race_key(loss, weights.beta, bits), bits, id);
  }
  std::ranges::sort(ranked);
  Counts left = counts;
  SortedDraw draw{{}, std::vector(counts.size(), -std::numeric_limits<double>::infinity())};
  for (const auto& [key, bits, id] : ranked) {
    const auto j = static_cast<std::size_t>(classes.class_of(id));
    if (left[j] == 0) draw.thresholds[j] = -key;
    if (left[j]-- > 0) draw.ids.push_back(id);
  }
  std::ranges::sort(draw.ids);
  return draw;
}

struct LossKind {
  const char* name;
  float (*make)(double uniform, SampleId id);
  double beta;
};

class DrawWeightedOnLosses : public testing::TestWithParam<LossKind> {};

TEST_P(DrawWeightedOnLosses, EqualsAFullSortWithAnyNumberOfThreads) {
#if defined(RCAP_SANITIZED)
  constexpr SampleId Samples = 40'000;  // three chunks still, and each sample ten times as slow
#else
  constexpr SampleId Samples = 150'000;
#endif
  constexpr int Classes = 37;
  const RandomStream random(2, Purpose::Synthetic, 0);
  std::vector<int> labels;
  std::vector<float> losses;
  for (SampleId id = 0; id < Samples; ++id) {
    // Class 0 holds half of all, the last ones a handful.
    const double u = random.uniform(id);
    labels.push_back(static_cast<int>(u * u * u * Classes));
    losses.push_back(GetParam().make(random.uniform(id + Samples), id));
  }
  const ClassIndex classes(labels, Classes);
  for (const double kept : {0.001, 0.1, 0.5, 0.99}) {
    Counts counts;
    for (const std::int64_t size : classes.class_sizes()) {
      counts.push_back(static_cast<std::int64_t>(std::ceil(kept * static_cast<double>(size))));
    }
    const RandomStream stream(0, Purpose::Selection, static_cast<std::int64_t>(kept * 1000));
    const LossWeights weights{losses, GetParam().beta};
    const auto expected = draw_by_sorting(classes, weights, counts, stream);
    for (const int threads : {1, 2, 7}) {
      DrawScratch scratch;
      const SampleSet drawn = draw_weighted(classes, weights, counts, stream, threads, &scratch);
      EXPECT_EQ(drawn.ids(), expected.ids)
          << GetParam().name << ", " << kept << " kept, " << threads << " threads";
      EXPECT_EQ(scratch.thresholds, expected.thresholds)
          << GetParam().name << ", " << kept << " kept, " << threads << " threads";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    , DrawWeightedOnLosses,
    testing::Values(
        LossKind{"ordinary",
                 [](double u, SampleId) { return static_cast<float>(-2 * std::log(u)); }, 1.0},
        LossKind{"all_equal", [](double, SampleId) { return 2.3F; }, 1.0},
        LossKind{"zeros", [](double, SampleId) { return 0.0F; }, 1.0},
        LossKind{
            "outliers",
            [](double u, SampleId id) { return id % 1000 == 7 ? 1e30F : static_cast<float>(u); },
            1.0},
        LossKind{"all_huge", [](double u, SampleId) { return u < 0.5 ? 1e30F : 2e30F; }, 1e-3},
        LossKind{"largest", [](double, SampleId) { return std::numeric_limits<float>::max(); },
                 1e-3},
        LossKind{"denormals", [](double u, SampleId) { return static_cast<float>(u * 1e-40); },
                 1e-3},
        LossKind{"few_values",
                 [](double u, SampleId) { return std::floor(static_cast<float>(u * 4)); }, 0.25},
        LossKind{"cold", [](double u, SampleId) { return static_cast<float>(10 * u); }, 1e-3},
        LossKind{"warm", [](double u, SampleId) { return static_cast<float>(10 * u); }, 0.05},
        LossKind{"hot", [](double u, SampleId) { return static_cast<float>(10 * u); }, 1e3}),
    [](const auto& test) { return test.param.name; });

TEST(DrawWeighted, UsesKeptScratchWithoutTraces) {
  const std::vector<float> losses{3, 1, 2, 5, 4, 1, 1, 2};
  const ClassIndex classes(std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1});
  DrawScratch scratch;
  for (int epoch = 0; epoch < 5; ++epoch) {
    const RandomStream stream(0, Purpose::Selection, epoch);
    EXPECT_EQ(draw_weighted(classes, {losses, 1.0}, Counts{2, 3}, stream, 1, &scratch),
              draw_weighted(classes, {losses, 1.0}, Counts{2, 3}, stream, 2));
  }
}

TEST(DrawWeighted, DoesNotDependOnWhereItLooksFirst) {
  // What the last draw handed on may be far off, too high or too low, for all classes or one.
  constexpr int Samples = 20'000;
  const RandomStream noise(5, Purpose::Synthetic, 0);
  std::vector<int> labels;
  std::vector<float> losses;
  for (SampleId id = 0; id < Samples; ++id) {
    labels.push_back(static_cast<int>(id % 7));
    losses.push_back(static_cast<float>(3 * noise.uniform(id)));
  }
  const ClassIndex classes(labels);
  for (const std::int64_t kept : {5, 290, 1400, 2857}) {
    Counts counts(7, kept);
    counts[3] = 0;
    const RandomStream stream(0, Purpose::Selection, kept);
    const SampleSet expected = draw_weighted(classes, {losses, 1.0}, counts, stream);
    for (const double off : {-50.0, -1.0, -0.2, 0.2, 1.0, 50.0}) {
      for (const bool one_class_only : {false, true}) {
        DrawScratch scratch;
        (void)draw_weighted(classes, {losses, 1.0}, counts, stream, 1, &scratch);
        for (std::size_t j = 0; j < (one_class_only ? 1 : counts.size()); ++j) {
          scratch.thresholds[j] += off;
        }
        DrawScratch confident = scratch;  // the last guess held, so this one is trusted more
        confident.guesses = confident.thresholds;
        EXPECT_EQ(draw_weighted(classes, {losses, 1.0}, counts, stream, 1, &scratch), expected)
            << kept << " kept, off by " << off;
        EXPECT_EQ(draw_weighted(classes, {losses, 1.0}, counts, stream, 1, &confident), expected)
            << kept << " kept, off by " << off << ", confident";
      }
    }
  }
}

TEST(DrawWeighted, RefusesCountsOutOfRangeByClass) {
  const ClassIndex classes(std::vector<int>{0, 0, 1});
  const std::vector<float> losses{1, 1, 1};
  const RandomStream stream(0, Purpose::Selection, 0);
  EXPECT_THAT(message_of<InvalidArgument>([&] {
                (void)draw_weighted(classes, {losses, 1.0}, Counts{1, 2}, stream);
              }),
              HasSubstr("counts[1] is 2; it must lie between 0 and 1"));
  EXPECT_THROW((void)draw_weighted(classes, {losses, 0.0}, Counts{1, 1}, stream), InvalidArgument);
  EXPECT_THROW((void)draw_weighted(classes, {losses, 1.0}, Counts{1}, stream), InvalidArgument);
}

TEST(DrawUniform, DrawsEverySampleEquallyOften) {
  constexpr int Epochs = 20'000;
  std::array<int, 10> drawn{};
  for (int epoch = 0; epoch < Epochs; ++epoch) {
    const auto ids = draw_uniform(10, 3, RandomStream(1, Purpose::Selection, epoch)).ids();
    ASSERT_EQ(ids.size(), 3U);
    for (const SampleId id : ids) ++drawn.at(static_cast<std::size_t>(id));
  }
  for (const int count : drawn) {
    EXPECT_NEAR(count, Epochs * 0.3, 5 * std::sqrt(Epochs * 0.3 * 0.7));
  }
}

TEST(DrawUniform, DrawsAreNested) {
  const RandomStream stream(0, Purpose::Permutation, 0);
  SampleSet last = draw_uniform(5000, 0, stream);
  for (const std::int64_t count : {1, 2, 100, 101, 4999, 5000}) {
    const SampleSet next = draw_uniform(5000, count, stream);
    EXPECT_EQ(next.count(), count);
    SampleSet both = next;
    both.unite(last);
    EXPECT_EQ(both, next);
    last = next;
  }
}

TEST(DrawFrom, DrawsMembersOnly) {
  SampleSet members(1000);
  for (SampleId id = 3; id < 1000; id += 7) members.insert(id);
  const RandomStream stream(0, Purpose::Selection, 0);
  SampleSet drawn = draw_from(members, 50, stream, 2);
  EXPECT_EQ(drawn.count(), 50);
  drawn.subtract(members);
  EXPECT_EQ(drawn.count(), 0);
  EXPECT_EQ(draw_from(members, members.count(), stream), members);
  EXPECT_THROW((void)draw_from(members, members.count() + 1, stream), InvalidArgument);
}

TEST(DrawPerClass, DrawsItsCountOfEachClass) {
  std::vector<int> labels;
  for (int i = 0; i < 10'000; ++i) labels.push_back(i % 7);
  const ClassIndex classes(labels);
  const Counts counts{0, 1, 10, 100, 1000, 1428, 3};
  const auto drawn = draw_per_class(classes, counts, RandomStream(0, Purpose::Selection, 0), 2);
  EXPECT_EQ(classes.count_by_class(drawn.ids()), counts);
}

}  // namespace
}  // namespace rcap
