#include "rcap/core/weighted_draw.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "base/formatted.hpp"
#include "core/draw_engine.hpp"
#include "core/race_ranker.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

void check_counts(std::string_view where, std::span<const std::int64_t> sizes,
                  std::span<const std::int64_t> counts) {
  if (counts.size() != sizes.size()) {
    throw InvalidArgument(
        formatted("{}: counts has {} entries for {} classes", where, counts.size(), sizes.size()));
  }
  for (std::size_t j = 0; j < counts.size(); ++j) {
    if (counts[j] < 0 || counts[j] > sizes[j]) {
      throw InvalidArgument(
          formatted("{}: counts[{}] is {}; it must lie between 0 and {}, the class size", where, j,
                    counts[j], sizes[j]));
    }
  }
}

void check_weights(const ClassIndex& classes, const LossWeights& weights) {
  if (std::cmp_not_equal(weights.losses.size(), classes.sample_count())) {
    throw InvalidArgument(formatted("draw_weighted: {} losses for {} samples",
                                    weights.losses.size(), classes.sample_count()));
  }
  if (!(weights.beta >= 1e-3 && weights.beta <= 1e3)) {
    throw InvalidArgument(
        formatted("beta is {}; it must lie between 0.001 and 1000", weights.beta));
  }
}

/// `counts[g]` samples of each group g, all members of a group equally likely.
template <Grouping Groups>
SampleSet draw_equally(const Groups& groups, const RandomStream& stream, std::int64_t sample_count,
                       std::span<const std::int64_t> counts, const Workers& workers) {
  UniformRanker ranker(stream, bin_bits_for(sample_count, counts.size()));
  DrawScratch scratch;
  return Draw(groups, ranker, sample_count, counts, workers, scratch).run();
}

}  // namespace

SampleSet draw_weighted(const ClassIndex& classes, const LossWeights& weights,
                        std::span<const std::int64_t> counts, const RandomStream& stream,
                        const Workers& workers, DrawScratch* scratch) {
  check_weights(classes, weights);
  check_counts("draw_weighted", classes.class_sizes(), counts);
  DrawScratch own;
  DrawScratch& used = scratch != nullptr ? *scratch : own;
  return classes.visit([&](auto labels) {
    const LabelGroups groups{labels.data()};
    RaceRanker ranker(classes, groups, weights, stream,
                      bin_bits_for(classes.sample_count(), counts.size()));
    ranker.aim_at(counts, used);
    used.counts.assign(counts.begin(), counts.end());
    return Draw(groups, ranker, classes.sample_count(), counts, workers, used).run();
  });
}

SampleSet draw_per_class(const ClassIndex& classes, std::span<const std::int64_t> counts,
                         const RandomStream& stream, const Workers& workers) {
  check_counts("draw_per_class", classes.class_sizes(), counts);
  return classes.visit([&](auto labels) {
    return draw_equally(LabelGroups{labels.data()}, stream, classes.sample_count(), counts,
                        workers);
  });
}

SampleSet draw_uniform(std::int64_t sample_count, std::int64_t count, const RandomStream& stream,
                       const Workers& workers) {
  const std::array counts{count};
  check_counts("draw_uniform", std::array{sample_count}, counts);
  return draw_equally(OneGroup{}, stream, sample_count, counts, workers);
}

SampleSet draw_from(const SampleSet& members, std::int64_t count, const RandomStream& stream,
                    const Workers& workers) {
  check_counts("draw_from", std::array{members.count()}, std::array{count});
  const std::array<std::int64_t, 2> counts{count, 0};
  return draw_equally(MemberGroups{&members}, stream, members.sample_count(), counts, workers);
}

double sum_of_keys(const ClassIndex& classes, const LossWeights& weights,
                   const RandomStream& stream, SampleId first, SampleId last) {
  check_weights(classes, weights);
  return classes.visit([&](auto labels) {
    const LabelGroups groups{labels.data()};
    RaceRanker ranker(classes, groups, weights, stream, 0);
    double sum = 0;
    float places[BlockSamples];
    while (first < last) {
      const auto count = std::min(BlockSamples, static_cast<std::size_t>(last - first));
      ranker.places_of(first, count, places);
      sum += static_cast<double>(places[0]);
      first += static_cast<SampleId>(count);
    }
    return sum;
  });
}

}  // namespace rcap
