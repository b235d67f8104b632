#include "rcap/core/class_budget.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>
#include <string_view>
#include <utility>

#include "base/formatted.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

void check_lengths(std::string_view where, std::span<const std::int64_t> class_sizes,
                   std::string_view other_name, std::size_t other_length) {
  if (class_sizes.size() != other_length) {
    throw InvalidArgument(formatted("{}: {} has {} entries for {} classes", where, other_name,
                                    other_length, class_sizes.size()));
  }
}

void check_budget(std::string_view where, std::span<const std::int64_t> class_sizes,
                  std::int64_t keep_count) {
  std::int64_t total = 0;
  for (std::size_t j = 0; j < class_sizes.size(); ++j) {
    if (class_sizes[j] < 0) {
      throw InvalidArgument(
          formatted("{}: class_sizes[{}] is {}; it must be >= 0", where, j, class_sizes[j]));
    }
    total += class_sizes[j];
  }
  if (keep_count < 0 || keep_count > total) {
    throw InvalidArgument(
        formatted("{}: keep_count is {}; it must lie between 0 and {}", where, keep_count, total));
  }
}

/// Shares `budget` over the classes `rest` by their size.
void share_by_size(std::span<const std::int64_t> class_sizes, std::span<const std::size_t> rest,
                   double budget, std::vector<double>& shares) {
  double total = 0;
  for (const std::size_t j : rest) total += static_cast<double>(class_sizes[j]);
  if (total == 0) return;
  for (const std::size_t j : rest) {
    shares[j] = budget * (static_cast<double>(class_sizes[j]) / total);
  }
}

std::int64_t sum_of_minima(std::span<const std::int64_t> class_sizes, std::int64_t minimum) {
  return std::accumulate(
      class_sizes.begin(), class_sizes.end(), std::int64_t{0},
      [minimum](std::int64_t sum, std::int64_t size) { return sum + std::min(size, minimum); });
}

/// The largest minimum, not above `wanted`, that `keep_count` can pay.
std::int64_t affordable_minimum(std::span<const std::int64_t> class_sizes, std::int64_t keep_count,
                                std::int64_t wanted) {
  std::int64_t low = 0;
  // No class can give more than the whole budget, so nothing above it need be tried.
  std::int64_t high = std::min(wanted, keep_count);
  while (low < high) {
    const std::int64_t middle = low + (high - low + 1) / 2;
    if (sum_of_minima(class_sizes, middle) <= keep_count) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

struct Candidate {
  double gap;            ///< how far the count is from its share, in the direction of the step
  std::int64_t count;    ///< breaks ties: larger first
  std::size_t class_id;  ///< breaks ties that are left: smaller first
  bool operator<(const Candidate& other) const {
    if (gap != other.gap) return gap < other.gap;
    if (count != other.count) return count < other.count;
    return class_id > other.class_id;
  }
};

/// The usual end of rounding: each of the `missing` widest gaps gets one step, and none is
/// then still wider than one that got none.
/// @return whether it was so; if not, nothing is changed
bool mend_widest_once(std::vector<Candidate>& candidates, std::int64_t missing, std::int64_t step,
                      std::vector<std::int64_t>& counts) {
  if (std::cmp_greater_equal(missing, candidates.size())) return false;
  const auto next = candidates.begin() + missing;
  std::ranges::nth_element(candidates, next, [](const auto& a, const auto& b) { return b < a; });
  const std::span chosen(candidates.begin(), next);
  constexpr double Rounding = 1e-6;  // more than that of a gap between counts below 2^32
  const auto narrow_after = [&](const Candidate& c) { return c.gap - 1 < next->gap - Rounding; };
  if (!std::ranges::all_of(chosen, narrow_after)) return false;
  for (const Candidate& c : chosen) counts[c.class_id] += step;
  return true;
}

/// Adds `step` to one count after the other, always where the gap is widest, until
/// `missing` steps are made.
void mend_counts(std::span<const double> shares, std::span<const std::int64_t> limits,
                 std::int64_t missing, std::int64_t step, std::vector<std::int64_t>& counts) {
  const auto candidate = [&](std::size_t j) {
    const double gap = (shares[j] - static_cast<double>(counts[j])) * static_cast<double>(step);
    return Candidate{gap, step > 0 ? 0 : counts[j], j};
  };
  std::vector<Candidate> candidates;
  for (std::size_t j = 0; j < counts.size(); ++j) {
    if (counts[j] != limits[j]) candidates.push_back(candidate(j));
  }
  if (mend_widest_once(candidates, missing, step, counts)) return;
  std::priority_queue<Candidate> widest({}, std::move(candidates));
  for (; missing > 0; --missing) {
    if (widest.empty()) throw InternalError("round_shares: no class left to adjust");
    const std::size_t j = widest.top().class_id;
    widest.pop();
    counts[j] += step;
    if (counts[j] != limits[j]) widest.push(candidate(j));
  }
}

}  // namespace

std::int64_t keep_count(std::int64_t sample_count, ClassId class_count, double pruning_rate) {
  if (!(pruning_rate >= 0.0 && pruning_rate < 1.0)) {
    throw InvalidArgument(
        formatted("pruning_rate is {}; it is the fraction removed and must satisfy 0 <= rate < 1",
                  pruning_rate));
  }
  const double kept = (1.0 - pruning_rate) * static_cast<double>(sample_count);
  const auto whole = static_cast<std::int64_t>(std::floor(kept + 1e-6));
  return std::clamp(whole, std::min<std::int64_t>(class_count, sample_count), sample_count);
}

std::vector<double> share_budget(std::span<const std::int64_t> class_sizes,
                                 std::span<const double> class_weights, std::int64_t keep_count) {
  check_lengths("share_budget", class_sizes, "class_weights", class_weights.size());
  check_budget("share_budget", class_sizes, keep_count);
  std::vector<std::size_t> order;
  for (std::size_t j = 0; j < class_sizes.size(); ++j) {
    if (!(std::isfinite(class_weights[j]) && class_weights[j] >= 0)) {
      throw InvalidArgument(
          formatted("share_budget: class_weights[{}] is {}; weights must be finite and >= 0", j,
                    class_weights[j]));
    }
    if (class_sizes[j] > 0) order.push_back(j);
  }
  const auto size_of = [&](std::size_t j) { return static_cast<double>(class_sizes[j]); };
  // Mostly no class is filled, and the shares are the weights scaled.
  double total_weight = 0;
  for (const std::size_t j : order) total_weight += class_weights[j];
  std::vector<double> shares(class_sizes.size());
  if (total_weight > 0) {
    bool fits = true;
    for (const std::size_t j : order) {
      shares[j] = static_cast<double>(keep_count) * (class_weights[j] / total_weight);
      fits = fits && shares[j] < size_of(j);
    }
    if (fits) return shares;
  }
  // The classes that their share fills are those of the smallest size per weight, so
  // repeated sharing comes down to one walk in that order.
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return size_of(a) * class_weights[b] < size_of(b) * class_weights[a];
  });
  std::vector<double> weight_from(order.size() + 1);  // of this class and all behind it
  for (std::size_t i = order.size(); i-- > 0;) {
    weight_from[i] = weight_from[i + 1] + class_weights[order[i]];
  }
  std::ranges::fill(shares, 0.0);
  auto left = static_cast<double>(keep_count);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t j = order[i];
    if (weight_from[i] == 0) {
      share_by_size(class_sizes, std::span(order).subspan(i), left, shares);
      break;
    }
    if (left * (class_weights[j] / weight_from[i]) < size_of(j)) {
      // One product for all: classes of equal weight get equal shares to the last bit.
      for (const std::size_t open : std::span(order).subspan(i)) {
        shares[open] = left * (class_weights[open] / weight_from[i]);
      }
      break;
    }
    shares[j] = size_of(j);
    left -= shares[j];
  }
  return shares;
}

std::vector<std::int64_t> round_shares(std::span<const std::int64_t> class_sizes,
                                       std::span<const double> shares, std::int64_t keep_count,
                                       std::int64_t min_per_class) {
  check_lengths("round_shares", class_sizes, "shares", shares.size());
  check_budget("round_shares", class_sizes, keep_count);
  if (min_per_class < 0) {
    throw InvalidArgument(formatted("min_per_class is {}; it must be a count >= 0", min_per_class));
  }
  const std::int64_t minimum = affordable_minimum(class_sizes, keep_count, min_per_class);
  std::vector<std::int64_t> lowest(class_sizes.size());
  std::vector<std::int64_t> counts(class_sizes.size());
  for (std::size_t j = 0; j < counts.size(); ++j) {
    lowest[j] = std::min(class_sizes[j], minimum);
    const auto whole = static_cast<std::int64_t>(std::floor(shares[j] + 1e-9));
    counts[j] = std::clamp(whole, lowest[j], class_sizes[j]);
  }
  const std::int64_t missing =
      keep_count - std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  if (missing > 0) mend_counts(shares, class_sizes, missing, +1, counts);
  if (missing < 0) mend_counts(shares, lowest, -missing, -1, counts);
  return counts;
}

std::vector<std::int64_t> split_budget(std::span<const std::int64_t> class_sizes,
                                       std::span<const double> class_weights,
                                       std::int64_t keep_count, std::int64_t min_per_class) {
  return round_shares(class_sizes, share_budget(class_sizes, class_weights, keep_count), keep_count,
                      min_per_class);
}

}  // namespace rcap
