#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "core/bins.hpp"
#include "core/chunks.hpp"
#include "core/groups.hpp"
#include "core/ranker.hpp"
#include "core/set_bits.hpp"
#include "rcap/core/sample_set.hpp"
#include "rcap/core/token_thresholds.hpp"
#include "rcap/core/weighted_draw.hpp"

namespace rcap {

/// Note [Drawing tokens]
///
/// A group gives samples in the order of their ranks until its budget of tokens is met: the prefix
/// of that order whose tokens are nearest to the budget, the shorter of two that are equally near.
/// A sample is in it if and only if its middle lies below the budget: with T tokens before it and l
/// of its own, |T + l - B| < |T - B| means T + l / 2 < B. Middles ascend along the order, so the
/// prefix is one. If asked to, a group whose budget is not 0 gives at least its first sample.
///
/// The two passes are those of Note [Drawing in two passes], with tokens in the histogram instead
/// of samples. Let A(b) be the tokens in bins above b, and d the highest bin with A(d - 1) > B: all
/// tokens above d fit. A sample more than `Neighbours` bins above d has only samples of bins above
/// d before it, so it ends at or below B, and wins. Let e be the highest bin with A(e - 1) >= B: a
/// sample more than `Neighbours` bins below e has B tokens before it, and loses. Those between are
/// ranked exactly.
///
/// The chances of the drawn samples follow from those that end up to half of the longest length
/// beyond B (`TokenThresholds`). If they are wanted, e reaches so far.

/// What a draw may take.
struct TokenTask {
  std::span<const std::uint32_t> lengths;   ///< one per sample; empty: each counts 1
  std::span<const std::int64_t> budgets;    ///< of each group, in tokens
  std::span<const std::int64_t> available;  ///< the tokens of each group's candidates
  /// Tokens of each group that its budget has paid for already; empty: none.
  std::span<const std::int64_t> spent = {};
  const SampleSet* candidates = nullptr;  ///< who may be drawn; nullptr: all
  bool at_least_one = true;               ///< of each group whose budget is not 0
  /// The longest of all lengths if `TokenThresholds` are wanted; else 0.
  std::int64_t longest = 0;
};

/// One draw of Note [Drawing tokens]; the workers change nothing.
///
/// O(n): about two passes over the data, and exact ranks of few samples. Takes one byte for each
/// sample, and for each worker a histogram of all bins and groups.
template <Grouping Groups, Ranker R>
class TokenDraw {
 public:
  TokenDraw(const Groups& groups, R& ranker, std::int64_t sample_count, const TokenTask& task,
            const Workers& workers, DrawScratch& scratch)
      : groups_(groups),
        ranker_(ranker),
        task_(task),
        workers_(workers),
        scratch_(scratch),
        chunks_{sample_count, ChunkSamples} {}

  SampleSet run() {
    scratch_.thresholds.assign(group_count(), -std::numeric_limits<double>::infinity());
    scratch_.by_length.reset(task_.budgets);
    scratch_.tokens.resize(group_count());
    do {
      count_bins();
      find_open_bins();
    } while (ranker_.aim_lower(lowest_aimed_, task_.budgets));
    SampleSet winners(chunks_.count);
    settle(take_higher_bins(winners), winners);
    return winners;
  }

 private:
  static constexpr std::int64_t ChunkSamples = 1 << 14;
  static constexpr std::uint8_t HighestBin = std::numeric_limits<std::uint8_t>::max();
  using Ids = std::vector<std::uint32_t>;
  using Histogram = std::vector<std::int64_t>;

  /// The bins of a group that have to be ranked, none if the first is above the last. Samples above
  /// them win, samples below do not.
  struct OpenBins {
    int first = 0;
    int last = -1;
    std::int64_t tokens_above = 0;  ///< with what is spent

    [[nodiscard]] bool some() const { return first <= last; }
  };

  [[nodiscard]] std::size_t group_count() const { return task_.budgets.size(); }
  [[nodiscard]] std::int64_t length_of(std::size_t id) const {
    return task_.lengths.empty() ? 1 : task_.lengths[id];
  }
  [[nodiscard]] std::int64_t spent(std::size_t group) const {
    return task_.spent.empty() ? 0 : task_.spent[group];
  }
  /// Twice the tokens up to which samples have to be ranked.
  [[nodiscard]] std::int64_t twice_reach(std::size_t group) const {
    const std::int64_t beyond = 2 * task_.budgets[group] + task_.longest;
    // A first sample that had to win may be longer than that; the chance of it follows from the
    // second one.
    return task_.longest == 0 ? beyond : std::max(beyond, 2 * task_.longest + 1);
  }
  /// The words of the candidates of a block.
  [[nodiscard]] std::uint64_t candidate_word(SampleId first, std::size_t word) const {
    return task_.candidates == nullptr
               ? ~std::uint64_t{0}
               : task_.candidates->words()[static_cast<std::size_t>(first) / 64 + word];
  }

  /// Calls `f(first, count)` for the blocks of a chunk.
  template <class F>
  void for_each_block(std::int64_t chunk, F&& f) const {
    for (SampleId first = chunks_.begin(chunk); first < chunks_.end(chunk);) {
      const auto left = static_cast<std::size_t>(chunks_.end(chunk) - first);
      const std::size_t count = std::min(BlockSamples, left);
      f(first, count);
      first += static_cast<SampleId>(count);
    }
  }

  /// The candidates of a block whose bins are `lowest` to `highest`.
  [[nodiscard]] SetBits candidates_within(SampleId first, const std::uint8_t* bins,
                                          std::size_t count, std::uint8_t lowest,
                                          std::uint8_t highest) const {
    std::uint64_t within[BlockSamples / 64];
    bins_within(bins, count, lowest, highest, within);
    const std::size_t words = (count + 63) / 64;
    for (std::size_t w = 0; w < words; ++w) within[w] &= candidate_word(first, w);
    return SetBits({within, words});
  }

  /// Adds up the tokens in all bins but the lowest, which `available` tells.
  void count_bins() {
    const std::size_t cells = static_cast<std::size_t>(ranker_.bin_count()) * group_count();
    const std::size_t row = group_count();
    scratch_.bins.resize(static_cast<std::size_t>(chunks_.count));
    histograms_.assign(static_cast<std::size_t>(workers_.count()), {});
    workers_.for_each_chunk(chunks_.size(), [&](std::int64_t chunk, int worker) {
      Histogram& counted = histograms_[static_cast<std::size_t>(worker)];
      if (counted.empty()) counted.resize(cells);
      for_each_block(chunk, [&](SampleId first, std::size_t count) {
        std::uint8_t* bins = scratch_.bins.data() + first;
        ranker_.find_bins(first, count, bins);
        // Copied: as far as the compiler knows, writing a cell could change what is behind `this`.
        std::int64_t* const histogram = counted.data();
        const Groups groups = groups_;
        const TokenTask task = task_;
        for (const std::uint16_t i : candidates_within(first, bins, count, 1, HighestBin)) {
          const SampleId id = first + i;
          histogram[bins[i] * row + groups(id)] +=
              task.lengths.empty() ? 1 : task.lengths[static_cast<std::size_t>(id)];
        }
      });
    });
    Histogram& total = histograms_.front();
    total.resize(cells);  // its worker may have come too late for a chunk
    for (const Histogram& other : std::span(histograms_).subspan(1)) {
      std::ranges::transform(other, total, total.begin(), std::plus<>());
    }
  }

  void find_open_bins() {
    open_.assign(group_count(), {});
    lowest_aimed_.assign(group_count(), HighestBin);
    for (std::size_t g = 0; g < group_count(); ++g) {
      open_[g] = open_bins_of(g);
      if (open_[g].some()) lowest_aimed_[g] = static_cast<std::uint8_t>(open_[g].first);
    }
  }

  [[nodiscard]] OpenBins open_bins_of(std::size_t g) const {
    const std::int64_t budget = task_.budgets[g];
    const std::int64_t all = spent(g) + task_.available[g];
    const int bin_count = ranker_.bin_count();
    if (task_.available[g] == 0 || spent(g) >= budget)
      return {.first = bin_count, .last = bin_count - 1, .tokens_above = spent(g)};
    if (all <= budget) return {.first = 0, .last = -1, .tokens_above = all};  // every one wins
    // Down from the highest bin, with what lies above the one looked at.
    const auto tokens_in = [&](int bin) {
      return histograms_.front()[static_cast<std::size_t>(bin) * group_count() + g];
    };
    std::int64_t above = spent(g);
    int deciding = bin_count - 1;
    for (; deciding > 0 && above + tokens_in(deciding) <= budget; --deciding) {
      above += tokens_in(deciding);
    }
    const int last = std::min(deciding + R::Neighbours, bin_count - 1);
    std::int64_t above_last = above;
    for (int bin = deciding + 1; bin <= last; ++bin) above_last -= tokens_in(bin);
    int end = deciding;
    while (end > 0 && 2 * (above + tokens_in(end)) < twice_reach(g)) {
      above += tokens_in(end--);
    }
    return {.first = std::max(end - R::Neighbours, 0), .last = last, .tokens_above = above_last};
  }

  /// What one worker finds undecided.
  struct Undecided {
    std::vector<Ids> ids;               ///< a list for each chunk
    std::vector<std::uint32_t> groups;  ///< per group, how many
  };

  /// Puts the candidates of higher bins into `winners`; returns those of the open bins.
  std::vector<Undecided> take_higher_bins(SampleSet& winners) {
    int lowest = ranker_.bin_count();
    int highest = -1;  // of the bins that mean different things to different groups
    for (const OpenBins& open : open_) {
      lowest = std::min(lowest, open.first);
      highest = std::max(highest, open.last);
    }
    std::vector<Undecided> undecided(static_cast<std::size_t>(workers_.count()));
    for (Undecided& of_worker : undecided) of_worker.groups.resize(group_count());
    workers_.for_each_chunk(chunks_.size(), [&](std::int64_t chunk, int worker) {
      Undecided& found = undecided[static_cast<std::size_t>(worker)];
      Ids& gathered = found.ids.emplace_back();
      for_each_block(chunk, [&](SampleId first, std::size_t count) {
        take_from_block(first, count, lowest, highest, winners.words().data() + first / 64,
                        gathered);
      });
      for (const std::uint32_t id : gathered) ++found.groups[groups_(id)];
    });
    return undecided;
  }

  void take_from_block(SampleId first, std::size_t count, int lowest, int highest,
                       std::uint64_t* higher, Ids& gathered) const {
    const std::uint8_t* bins = scratch_.bins.data() + first;
    const std::size_t words = (count + 63) / 64;
    if (highest < HighestBin) {
      bins_within(bins, count, static_cast<std::uint8_t>(highest + 1), HighestBin, higher);
      for (std::size_t w = 0; w < words; ++w) higher[w] &= candidate_word(first, w);
    }
    if (lowest > highest) return;
    std::uint32_t open[BlockSamples];
    std::size_t open_count = 0;
    const OpenBins* const open_bins = open_.data();
    const Groups groups = groups_;
    for (const std::uint16_t i :
         candidates_within(first, bins, count, static_cast<std::uint8_t>(lowest),
                           static_cast<std::uint8_t>(highest))) {
      const OpenBins& of_group = open_bins[groups(first + i)];
      // Written always and kept if open: no branch to guess wrongly.
      higher[i / 64] |= static_cast<std::uint64_t>(bins[i] > of_group.last) << (i % 64);
      open[open_count] = static_cast<std::uint32_t>(first + i);
      open_count += static_cast<std::size_t>(bins[i] >= of_group.first && bins[i] <= of_group.last);
    }
    gathered.insert(gathered.end(), open, open + open_count);
  }

  /// Ranks the undecided samples of each group and puts the best into `winners`.
  void settle(std::vector<Undecided> undecided, SampleSet& winners) {
    std::vector<std::uint32_t> begins(group_count() + 1);
    for (std::size_t g = 0; g < group_count(); ++g) {
      std::uint32_t next = begins[g];
      for (Undecided& of_worker : undecided) next += std::exchange(of_worker.groups[g], next);
      begins[g + 1] = next;
    }
    Ids grouped(begins.back());
    for (Undecided& of_worker : undecided) {
      for (const Ids& ids : of_worker.ids) {
        for (const std::uint32_t id : ids) grouped[of_worker.groups[groups_(id)]++] = id;
      }
    }
    std::vector<std::uint32_t> taken(group_count());
    const Chunks group_chunks{static_cast<std::int64_t>(group_count()), 64};
    workers_.for_each_chunk(group_chunks.size(), [&](std::int64_t chunk, int) {
      const auto first = static_cast<std::size_t>(group_chunks.begin(chunk));
      const auto last = static_cast<std::size_t>(group_chunks.end(chunk));
      // Together: their losses lie all over the memory.
      std::vector<RankedSample> ranked;
      ranker_.rank(std::span(grouped).subspan(begins[first], begins[last] - begins[first]), ranked);
      for (std::size_t g = first; g < last; ++g) {
        const std::size_t size = begins[g + 1] - begins[g];
        taken[g] = take_best(g, std::span(ranked).subspan(begins[g] - begins[first], size),
                             grouped.data() + begins[g]);
      }
    });
    for (std::size_t g = 0; g < group_count(); ++g) {
      for (std::uint32_t i = 0; i < taken[g]; ++i) winners.insert(grouped[begins[g] + i]);
    }
  }

  /// Sorts the open members of a group and writes down those that win.
  /// @return how many they are
  std::uint32_t take_best(std::size_t g, std::span<RankedSample> ranked,
                          std::uint32_t* winners) const {
    std::sort(ranked.begin(), ranked.end());
    const std::int64_t twice_budget = 2 * task_.budgets[g];
    std::int64_t tokens = open_[g].tokens_above;
    std::uint32_t count = 0;
    for (const RankedSample& sample : ranked) {
      const std::int64_t length = length_of(sample.id);
      const bool must_win = tokens == 0 && task_.at_least_one;
      if (!must_win && 2 * tokens + length >= twice_budget) break;
      tokens += length;
      winners[count++] = sample.id;
    }
    scratch_.tokens[g] = tokens;
    if (count < ranked.size()) scratch_.thresholds[g] = ranked[count].key;
    if (task_.longest > 0) list_marks(g, ranked);
    return count;
  }

  /// Lists the ranked samples that end beyond the budget, as far as chances depend on them.
  void list_marks(std::size_t g, std::span<const RankedSample> ranked) const {
    std::int64_t tokens = open_[g].tokens_above;
    for (const RankedSample& sample : ranked) {
      if (2 * tokens >= twice_reach(g)) return;
      const bool is_first = tokens == 0;  // nobody could come behind it
      tokens += length_of(sample.id);
      if (!is_first && tokens > task_.budgets[g])
        scratch_.by_length.marks(g).push_back({tokens, sample.key});
    }
  }

  const Groups& groups_;
  R& ranker_;
  const TokenTask& task_;
  const Workers& workers_;
  DrawScratch& scratch_;
  Chunks chunks_;
  std::vector<Histogram> histograms_;  ///< of each worker; the first one gets the sums
  std::vector<OpenBins> open_;         ///< of each group
  std::vector<std::uint8_t> lowest_aimed_;
};

}  // namespace rcap
