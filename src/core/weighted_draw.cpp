#include "rcap/core/weighted_draw.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/formatted.hpp"
#include "core/draw_engine.hpp"
#include "core/race_ranker.hpp"
#include "core/token_draw.hpp"
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
  if (std::cmp_not_equal(weights.losses.size(), classes.local_count())) {
    throw InvalidArgument(formatted("draw_weighted: {} losses for {} samples",
                                    weights.losses.size(), classes.local_count()));
  }
  if (!(weights.beta >= 1e-3 && weights.beta <= 1e3)) {
    throw InvalidArgument(
        formatted("beta is {}; it must lie between 0.001 and 1000", weights.beta));
  }
}

/// `counts[g]` samples of each group g, all members of a group equally likely.
template <Grouping Groups>
SampleSet draw_equally(const Groups& groups, const RandomStream& stream, const Shard& shard,
                       std::span<const std::int64_t> counts, const Workers& workers) {
  UniformRanker ranker(stream, bin_bits_for(shard.total(), counts.size()));
  DrawScratch scratch;
  return Draw(groups, ranker, shard, counts, workers, scratch).run();
}

/// The same in tokens.
template <Grouping Groups>
SampleSet draw_tokens_equally(const Groups& groups, const RandomStream& stream,
                              std::int64_t sample_count, const TokenTask& task,
                              const Workers& workers) {
  UniformRanker ranker(stream, bin_bits_for(sample_count, task.budgets.size()));
  DrawScratch scratch;
  return TokenDraw(groups, ranker, sample_count, task, workers, scratch).run();
}

std::int64_t tokens_of(const ClassIndex& classes, const SampleSet& samples) {
  std::int64_t tokens = 0;
  for (const SampleId id : samples.ids()) tokens += classes.length_of(id);
  return tokens;
}

/// Whether to draw by tokens: if samples count differently, or not all may be drawn.
bool needs_tokens(const ClassIndex& classes, const Candidates* candidates) {
  return classes.has_lengths() || candidates != nullptr;
}

TokenTask task_of(const ClassIndex& classes, std::span<const std::int64_t> counts,
                  const Candidates* candidates) {
  TokenTask task{
      .lengths = classes.lengths(), .budgets = counts, .available = classes.class_tokens()};
  if (candidates == nullptr) return task;
  task.available = candidates->tokens;
  task.spent = candidates->spent;
  task.candidates = candidates->samples;
  return task;
}

std::int64_t longest_of(const ClassIndex& classes) {
  return classes.has_lengths() ? std::ranges::max(classes.lengths()) : 1;
}

/// About how many samples of each class would be drawn down to the last one that matters, if all of
/// it were candidates: where the bins should lie.
std::vector<std::int64_t> expected_counts(const ClassIndex& classes, const TokenTask& task) {
  std::vector<std::int64_t> counts(task.budgets.size());
  for (std::size_t j = 0; j < counts.size(); ++j) {
    const std::int64_t size = classes.class_sizes()[j];
    const std::int64_t spent = task.spent.empty() ? 0 : task.spent[j];
    const double tokens =
        static_cast<double>(task.budgets[j] - spent) + static_cast<double>(task.longest) / 2;
    const double part =
        task.available[j] == 0 ? 0 : tokens / static_cast<double>(task.available[j]);
    const auto count =
        static_cast<std::int64_t>(std::clamp(part, 0.0, 1.0) * static_cast<double>(size));
    // None and all would mean that nothing has to be ranked.
    counts[j] = std::clamp<std::int64_t>(count, 1, std::max<std::int64_t>(size - 1, 1));
  }
  return counts;
}

}  // namespace

SampleSet draw_weighted(const ClassIndex& classes, const LossWeights& weights,
                        std::span<const std::int64_t> counts, const RandomStream& stream,
                        const Workers& workers, DrawScratch* scratch,
                        const Candidates* candidates) {
  check_weights(classes, weights);
  check_counts("draw_weighted", classes.class_tokens(), counts);
  DrawScratch own;
  DrawScratch& used = scratch != nullptr ? *scratch : own;
  return classes.visit([&](auto labels) {
    const LabelGroups groups{labels.data()};
    RaceRanker ranker(classes, groups, weights, stream,
                      bin_bits_for(classes.sample_count(), counts.size()));
    if (needs_tokens(classes, candidates)) {
      TokenTask task = task_of(classes, counts, candidates);
      task.longest = longest_of(classes);
      const std::vector<std::int64_t> expected = expected_counts(classes, task);
      ranker.aim_at(expected, used);
      used.counts = expected;
      return TokenDraw(groups, ranker, classes.sample_count(), task, workers, used).run();
    }
    ranker.aim_at(counts, used);
    used.counts.assign(counts.begin(), counts.end());
    return Draw(groups, ranker, classes.shard(), counts, workers, used).run();
  });
}

SampleSet draw_per_class(const ClassIndex& classes, std::span<const std::int64_t> counts,
                         const RandomStream& stream, const Workers& workers,
                         const Candidates* candidates) {
  check_counts("draw_per_class", classes.class_tokens(), counts);
  return classes.visit([&](auto labels) {
    const LabelGroups groups{labels.data()};
    if (needs_tokens(classes, candidates)) {
      return draw_tokens_equally(groups, stream, classes.sample_count(),
                                 task_of(classes, counts, candidates), workers);
    }
    return draw_equally(groups, stream, classes.shard(), counts, workers);
  });
}

SampleSet draw_tokens(const ClassIndex& classes, std::int64_t tokens, const RandomStream& stream,
                      const Workers& workers, const SampleSet* members) {
  if (!classes.has_lengths()) {
    return members != nullptr ? draw_from(classes.shard(), *members, tokens, stream, workers)
                              : draw_uniform(classes.shard(), tokens, stream, workers);
  }
  const std::array budgets{tokens};
  const std::array available{members != nullptr ? tokens_of(classes, *members)
                                                : classes.token_count()};
  check_counts("draw_tokens", available, budgets);
  const TokenTask task{.lengths = classes.lengths(),
                       .budgets = budgets,
                       .available = available,
                       .candidates = members,
                       .at_least_one = false};
  return draw_tokens_equally(OneGroup{}, stream, classes.sample_count(), task, workers);
}

SampleSet draw_uniform(std::int64_t sample_count, std::int64_t count, const RandomStream& stream,
                       const Workers& workers) {
  return draw_uniform(Shard(sample_count), count, stream, workers);
}

SampleSet draw_uniform(const Shard& shard, std::int64_t count, const RandomStream& stream,
                       const Workers& workers) {
  const std::array counts{count};
  check_counts("draw_uniform", std::array{shard.total()}, counts);
  return draw_equally(OneGroup{}, stream, shard, counts, workers);
}

SampleSet draw_from(const SampleSet& members, std::int64_t count, const RandomStream& stream,
                    const Workers& workers) {
  return draw_from(Shard(members.sample_count()), members, count, stream, workers);
}

SampleSet draw_from(const Shard& shard, const SampleSet& members, std::int64_t count,
                    const RandomStream& stream, const Workers& workers) {
  check_counts("draw_from", std::array{shard.sum(members.count())}, std::array{count});
  const std::array<std::int64_t, 2> counts{count, 0};
  return draw_equally(MemberGroups{&members}, stream, shard, counts, workers);
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
