#include "rcap/core/top_scores.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
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

/// A key, or half of one: all samples above it and the first `ties` samples equal to it
/// are as many as asked for.
struct Threshold {
  std::uint32_t key;
  std::int64_t ties;
};

/// Goes down from the highest bucket until `count` samples are found, `count` > 0.
Threshold find_bucket(const std::vector<std::int64_t>& histogram, std::int64_t count) {
  auto bucket = static_cast<std::uint32_t>(histogram.size() - 1);
  for (; histogram[bucket] < count; --bucket) count -= histogram[bucket];
  return {bucket, count};
}

/// How many scores have each upper half of a key.
std::vector<std::int64_t> count_upper_halves(std::span<const float> scores) {
  std::vector<std::int64_t> histogram(1U << 16);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (std::isnan(scores[i])) {
      throw InvalidArgument(
          formatted("top_scores: the score of sample {} is nan; scores must be numbers", i));
    }
    ++histogram[key_of(scores[i]) >> 16];
  }
  return histogram;
}

/// How many scores with the upper half `upper` have each lower half.
std::vector<std::int64_t> count_lower_halves(std::span<const float> scores, std::uint32_t upper) {
  std::vector<std::int64_t> histogram(1U << 16);
  for (const float score : scores) {
    const std::uint32_t key = key_of(score);
    if (key >> 16 == upper) ++histogram[key & 0xffffU];
  }
  return histogram;
}

}  // namespace

SampleSet top_scores(std::span<const float> scores, std::int64_t count) {
  if (count < 0 || count > static_cast<std::int64_t>(scores.size())) {
    throw InvalidArgument(
        formatted("top_scores: count is {}; it must lie between 0 and {}, the number of samples",
                  count, scores.size()));
  }
  SampleSet top(static_cast<std::int64_t>(scores.size()));
  const std::vector<std::int64_t> upper_halves = count_upper_halves(scores);
  if (count == 0) return top;

  const Threshold upper = find_bucket(upper_halves, count);
  const Threshold lower = find_bucket(count_lower_halves(scores, upper.key), upper.ties);
  const std::uint32_t threshold = upper.key << 16 | lower.key;
  std::int64_t ties = lower.ties;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const std::uint32_t key = key_of(scores[i]);
    if (key > threshold || (key == threshold && ties-- > 0)) top.insert(static_cast<SampleId>(i));
  }
  return top;
}

}  // namespace rcap
