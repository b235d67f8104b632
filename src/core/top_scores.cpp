#include "rcap/core/top_scores.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "base/formatted.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

/// Orders as the scores do; both zeros have one key.
std::uint32_t key_of(float score) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(score + 0.0F);
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000U;
}

/// A key, or half of one: all samples above it and the first of those equal to it, up to `ties`
/// tokens, are as many as asked for.
struct Threshold {
  std::uint32_t key;
  std::int64_t ties;
};

/// Goes down from the highest bucket until `count` tokens are found, `count` > 0.
Threshold find_bucket(const std::vector<std::int64_t>& histogram, std::int64_t count) {
  auto bucket = static_cast<std::uint32_t>(histogram.size() - 1);
  for (; histogram[bucket] < count; --bucket) count -= histogram[bucket];
  return {bucket, count};
}

/// What each sample counts.
using Lengths = std::span<const std::uint32_t>;

std::int64_t length_of(Lengths lengths, std::size_t i) { return lengths.empty() ? 1 : lengths[i]; }

/// How many tokens have each upper half of a key.
std::vector<std::int64_t> count_upper_halves(std::span<const float> scores, Lengths lengths) {
  std::vector<std::int64_t> histogram(1U << 16);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (std::isnan(scores[i])) {
      throw InvalidArgument(
          formatted("top_scores: the score of sample {} is nan; scores must be numbers", i));
    }
    histogram[key_of(scores[i]) >> 16] += length_of(lengths, i);
  }
  return histogram;
}

/// How many tokens with the upper half `upper` have each lower half.
std::vector<std::int64_t> count_lower_halves(std::span<const float> scores, Lengths lengths,
                                             std::uint32_t upper) {
  std::vector<std::int64_t> histogram(1U << 16);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const std::uint32_t key = key_of(scores[i]);
    if (key >> 16 == upper) histogram[key & 0xffffU] += length_of(lengths, i);
  }
  return histogram;
}

}  // namespace

SampleSet top_scores(std::span<const float> scores, std::int64_t count, Lengths lengths) {
  return top_scores(Shard(std::ssize(scores)), scores, count, lengths);
}

SampleSet top_scores(const Shard& shard, std::span<const float> scores, std::int64_t count,
                     Lengths lengths) {
  const std::int64_t all = lengths.empty()
                               ? shard.total()
                               : std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  if (count < 0 || count > all) {
    throw InvalidArgument(
        formatted("top_scores: count is {}; it must lie between 0 and {}, the number of {}", count,
                  all, lengths.empty() ? "samples" : "tokens"));
  }
  SampleSet top(std::ssize(scores));
  std::vector<std::int64_t> upper_halves = count_upper_halves(scores, lengths);
  if (count == 0) return top;

  shard.add_up(upper_halves);
  const Threshold upper = find_bucket(upper_halves, count);
  std::vector<std::int64_t> lower_halves = count_lower_halves(scores, lengths, upper.key);
  const std::vector<std::int64_t> here = lower_halves;
  shard.add_up(lower_halves);
  const Threshold lower = find_bucket(lower_halves, upper.ties);
  const std::uint32_t threshold = upper.key << 16 | lower.key;
  const bool some_lie_above = lower.ties < count;
  // Shards are in the order of ids, so those before this one have the first ties.
  const std::vector<std::int64_t> tied_before = shard.begins_of(here[lower.key]);
  std::int64_t tied = tied_before[static_cast<std::size_t>(shard.rank())];  // tokens so far
  bool may_win = true;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const std::uint32_t key = key_of(scores[i]);
    if (key > threshold) top.insert(static_cast<SampleId>(i));
    if (key != threshold || !may_win) continue;
    const std::int64_t length = length_of(lengths, i);
    const bool is_first = tied == 0 && !some_lie_above;
    may_win = is_first || 2 * tied + length < 2 * lower.ties;  // its middle lies in the budget
    tied += length;
    if (may_win) top.insert(static_cast<SampleId>(i));
  }
  return top;
}

}  // namespace rcap
