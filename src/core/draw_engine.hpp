#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "core/bins.hpp"
#include "core/chunks.hpp"
#include "core/groups.hpp"
#include "core/ranker.hpp"
#include "core/set_bits.hpp"
#include "core/shard_cut.hpp"
#include "rcap/core/sample_set.hpp"
#include "rcap/core/weighted_draw.hpp"

namespace rcap {

/// Note [Drawing in two passes]
///
/// A draw ranks the samples of each group and takes the best `counts[g]`. Sorting them,
/// or moving them to their groups, would cost many times the keys. Instead:
///
///  1. One pass over all samples puts each into one of up to 256 bins of its group, the
///     higher the better, and counts the bins. The bin of a sample is kept as a byte.
///  2. The counts tell for every group in which bin its best loser lies.
///  3. A second pass over the bytes takes all samples in clearly higher bins and gathers
///     those of the deciding bin and of its neighbours, about one in fifty.
///  4. The gathered ones are ranked exactly, group by group.
///
/// Why the result is that of a full sort: let k of a group win, and let d be its deciding
/// bin. Fewer than k samples lie above d, and at least k in d or above. A ranker promises
/// that samples more than `Neighbours` bins apart rank in the order of their bins. So whoever
/// ranks before a sample above the neighbours of d lies above d, which leaves it among the
/// first k; and everyone in d or above ranks before a sample below those neighbours.
///
/// The best loser is wanted too: where it ended is what the chance of a sample to win depends on.
/// So d is the bin of the (k + 1)-th sample, and of the ranked ones the last of the first k + 1 is
/// that loser.
///
/// Mostly the deciding bins of all groups lie near each other. Then the second pass looks up
/// the groups of the samples in these bins only: above them all win, below them none.
///
/// Of shards, each makes both passes over its own samples, and the counts of the bins are added up
/// over all of them, so all come to the same deciding bins. Who is first among the undecided
/// samples of all shards is found by `cut_over_shards`.
///
/// If few win, bins may begin near the winners. Most samples then lie in the lowest bin, and
/// the first pass need not count it. If winners of large groups turn out to end there, so
/// that ranking these groups exactly would take longer, the first pass is made again with
/// bins that begin lower.

/// One draw of Note [Drawing in two passes]: the best `counts[g]` samples of each group g by the
/// exact ranks of `ranker`; the workers change nothing.
///
/// O(n): about two passes over the data, and exact ranks of few samples. Takes one byte for
/// each sample, and for each worker a histogram of all bins and groups.
template <Grouping Groups, Ranker R>
class Draw {
 public:
  /// @param shard    the samples: below 2^32 of them are here
  /// @param counts   for each group, 0 to its size; a group may be empty
  /// @param scratch  memory to use again. Leaves there the key of the best loser of each
  ///                      group that has winners: minus infinity where all of it won
  Draw(const Groups& groups, R& ranker, const Shard& shard, std::span<const std::int64_t> counts,
       const Workers& workers, DrawScratch& scratch)
      : groups_(groups),
        ranker_(ranker),
        shard_(shard),
        counts_(counts),
        workers_(workers),
        scratch_(scratch),
        chunks_{shard.sample_count(), ChunkSamples} {}

  SampleSet run() {
    scratch_.thresholds.assign(group_count(), -std::numeric_limits<double>::infinity());
    with_loser_.resize(group_count());
    std::ranges::transform(counts_, with_loser_.begin(), [](std::int64_t k) { return k + 1; });
    do {
      count_bins();
      find_open_bins();
    } while (ranker_.aim_lower(lowest_open_, counts_));
    SampleSet winners(chunks_.count);
    auto undecided = take_higher_bins(winners);
    settle(undecided, winners);
    return winners;
  }

 private:
  static constexpr std::int64_t ChunkSamples = 1 << 14;
  /// The bins of a group that are not decided by their counts.
  static constexpr int OpenBins = 2 * R::Neighbours + 1;
  static constexpr std::uint8_t HighestBin = std::numeric_limits<std::uint8_t>::max();
  using Ids = std::vector<std::uint32_t>;

  [[nodiscard]] std::size_t group_count() const { return counts_.size(); }
  [[nodiscard]] Chunks chunks_of_groups() const {
    return {static_cast<std::int64_t>(group_count()), 64};
  }
  /// How many samples of a group lie in a bin, in all shards.
  [[nodiscard]] std::int64_t in_bin(std::size_t bin, std::size_t group) const {
    const std::size_t cell = bin * group_count() + group;
    return shard_.is_whole() ? scratch_.histograms.front()[cell] : histogram_of_all_[cell];
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

  void count_bins() {
    const std::size_t cells = static_cast<std::size_t>(ranker_.bin_count()) * group_count();
    const auto row = static_cast<std::uint32_t>(group_count());
    scratch_.bins.resize(static_cast<std::size_t>(chunks_.count));
    scratch_.histograms.resize(static_cast<std::size_t>(workers_.count()));
    for (auto& histogram : scratch_.histograms) histogram.clear();
    workers_.for_each_chunk(chunks_.size(), [&](std::int64_t chunk, int worker) {
      std::vector<std::uint32_t>& counted = scratch_.histograms[static_cast<std::size_t>(worker)];
      if (counted.empty()) counted.resize(cells);
      std::uint32_t* histogram = counted.data();
      for_each_block(chunk, [&](SampleId first, std::size_t count) {
        std::uint8_t* bins = scratch_.bins.data() + first;
        ranker_.find_bins(first, count, bins);
        if (!ranker_.most_are_lowest())
          return count_in_bins(groups_, row, first, bins, count, histogram);
        const Groups groups = groups_;
        for (const std::uint16_t i : samples_within(bins, count, 1, HighestBin)) {
          ++histogram[bins[i] * row + groups(first + i)];
        }
      });
    });
    scratch_.histograms.front().resize(cells);  // its worker may have come too late for a chunk
  }

  void find_open_bins() {
    deciding_.resize(group_count());
    higher_.resize(group_count());
    lowest_open_.resize(group_count());
    taken_.resize(group_count());
    const Chunks group_chunks = chunks_of_groups();
    if (!shard_.is_whole()) {
      add_up_histograms();
      find_deciding_bins(histogram_of_all_.data(), group_count(), ranker_.bin_count(), with_loser_,
                         deciding_.data(), higher_in_all_.data());
      for (std::size_t g = 0; g < group_count(); ++g) find_open_bins_of(g, higher_in_all_[g]);
      return;
    }
    workers_.for_each_chunk(group_chunks.size(), [&](std::int64_t chunk, int) {
      const auto first = static_cast<std::size_t>(group_chunks.begin(chunk));
      const auto last = static_cast<std::size_t>(group_chunks.end(chunk));
      add_histograms(first, last);
      find_deciding_bins(scratch_.histograms.front().data() + first, group_count(),
                         ranker_.bin_count(), std::span(with_loser_).subspan(first, last - first),
                         deciding_.data() + first, higher_.data() + first);
      for (std::size_t g = first; g < last; ++g) find_open_bins_of(g, higher_[g]);
    });
  }

  /// Adds what all workers of all shards counted.
  void add_up_histograms() {
    add_histograms(0, group_count());
    const std::vector<std::uint32_t>& here = scratch_.histograms.front();
    histogram_of_all_.assign(here.begin(), here.end());
    shard_.add_up(histogram_of_all_);
    higher_in_all_.resize(group_count());
  }

  /// Adds what all workers counted of these groups to the first histogram.
  void add_histograms(std::size_t first_group, std::size_t last_group) {
    for (const auto& other : std::span(scratch_.histograms).subspan(1)) {
      if (other.empty()) continue;
      for (int bin = 0; bin < ranker_.bin_count(); ++bin) {
        const std::size_t row = static_cast<std::size_t>(bin) * group_count();
        std::uint32_t* total = scratch_.histograms.front().data() + row;
        const std::uint32_t* more = other.data() + row;
        for (std::size_t g = first_group; g < last_group; ++g) total[g] += more[g];
      }
    }
  }

  /// @param higher  how many lie above the deciding bin
  void find_open_bins_of(std::size_t g, std::int64_t higher) {
    const int bin_count = ranker_.bin_count();
    if (is_decided(g)) {  // samples in the highest bin win, those in the lowest do not
      lowest_open_[g] = static_cast<std::uint8_t>(bin_count - 1 - OpenBins);
      taken_[g] = 0;
      return;
    }
    const int lowest =
        std::clamp(deciding_[g] - R::Neighbours, 0, std::max(bin_count - OpenBins, 0));
    lowest_open_[g] = static_cast<std::uint8_t>(lowest);
    taken_[g] = counts_[g] - higher;
    for (int bin = deciding_[g] + 1; bin < std::min(lowest + OpenBins, bin_count); ++bin) {
      taken_[g] += in_bin(static_cast<std::size_t>(bin), g);
    }
  }

  /// Whether all or none of a group win and its samples lie in the highest or lowest bin.
  [[nodiscard]] bool is_decided(std::size_t group) const {
    return ranker_.bin_count() > OpenBins && ranker_.all_lie_at_one_end(group, counts_[group]);
  }

  /// Bins in which some samples win and some do not, or are open. All samples in higher
  /// bins win, none in lower ones.
  struct MixedBins {
    std::uint8_t lowest;
    std::uint8_t highest;
  };

  [[nodiscard]] MixedBins find_mixed_bins() const {
    int lowest = ranker_.bin_count() - 1;
    int highest = 0;
    for (std::size_t g = 0; g < group_count(); ++g) {
      if (is_decided(g)) continue;
      lowest = std::min<int>(lowest, lowest_open_[g]);
      highest = std::max<int>(highest, lowest_open_[g] + OpenBins - 1);
    }
    highest = std::clamp(highest, lowest, ranker_.bin_count() - 1);
    return {static_cast<std::uint8_t>(lowest), static_cast<std::uint8_t>(highest)};
  }

  /// Whether so few samples lie in these bins that they are better looked at one by one.
  [[nodiscard]] bool are_few(const MixedBins& bins) {
    if (ranker_.most_are_lowest() && bins.lowest == 0) return false;  // which is not counted
    const auto first = static_cast<std::ptrdiff_t>(bins.lowest * group_count());
    const auto last = static_cast<std::ptrdiff_t>((bins.highest + std::size_t{1}) * group_count());
    const auto cells = scratch_.histograms.front().begin();
    const auto samples = std::reduce(cells + first, cells + last, std::uint32_t{0});
    return samples < chunks_.count / 4;
  }

  /// What one worker finds undecided.
  struct Undecided {
    std::vector<Ids> ids;               ///< a list for each chunk
    std::vector<std::uint32_t> groups;  ///< per group, how many
  };

  /// Puts the samples of higher bins into `winners`; returns those of the open bins.
  std::vector<Undecided> take_higher_bins(SampleSet& winners) {
    std::vector<Undecided> undecided(static_cast<std::size_t>(workers_.count()));
    for (Undecided& of_worker : undecided) of_worker.groups.resize(group_count());
    const MixedBins mixed = find_mixed_bins();
    const bool one_by_one = are_few(mixed);
    workers_.for_each_chunk(chunks_.size(), [&](std::int64_t chunk, int worker) {
      Undecided& found = undecided[static_cast<std::size_t>(worker)];
      Ids& gathered = found.ids.emplace_back();
      for_each_block(chunk, [&](SampleId first, std::size_t count) {
        std::uint64_t* higher = winners.words().data() + first / 64;
        if (one_by_one) {
          take_from_mixed(mixed, first, count, higher, gathered);
        } else {
          take_from_all(first, count, higher, gathered);
        }
      });
      for (const std::uint32_t id : gathered) ++found.groups[groups_(id)];
    });
    return undecided;
  }

  // Both copy what they read: a store of bytes could change what lies behind a reference,
  // as far as the compiler knows, and would have it read again for every sample.

  void take_from_all(SampleId first, std::size_t count, std::uint64_t* higher,
                     Ids& gathered) const {
    const Groups groups = groups_;
    const std::uint8_t* lowest_open = lowest_open_.data();
    std::uint8_t lowest[BlockSamples];
    for (std::size_t i = 0; i < count; ++i) {
      lowest[i] = lowest_open[groups(first + static_cast<SampleId>(i))];
    }
    std::uint64_t open[BlockSamples / 64];
    compare_bins(scratch_.bins.data() + first, lowest, OpenBins, count, higher, open);
    for (const std::uint16_t i : SetBits({open, (count + 63) / 64})) {
      gathered.push_back(static_cast<std::uint32_t>(first + i));
    }
  }

  void take_from_mixed(const MixedBins& mixed, SampleId first, std::size_t count,
                       std::uint64_t* higher, Ids& gathered) const {
    const std::uint8_t* lowest_open = lowest_open_.data();
    std::uint8_t bins[BlockSamples];  // those of mixed bins move to the end where they belong
    std::memcpy(bins, scratch_.bins.data() + first, count);
    std::uint32_t open[BlockSamples];
    std::size_t open_count = 0;
    const Groups groups = groups_;
    for (const std::uint16_t i : samples_within(bins, count, mixed.lowest, mixed.highest)) {
      const int above = bins[i] - lowest_open[groups(first + i)];
      bins[i] = above >= OpenBins ? HighestBin : 0;
      // Written always and kept if open: no branch to guess wrongly.
      open[open_count] = static_cast<std::uint32_t>(first + i);
      open_count += static_cast<std::size_t>(above >= 0 && above < OpenBins);
    }
    const int lowest_higher = std::min<int>(mixed.highest + 1, HighestBin);
    bins_within(bins, count, static_cast<std::uint8_t>(lowest_higher), HighestBin, higher);
    gathered.insert(gathered.end(), open, open + open_count);
  }

  /// Ranks the undecided samples of each group and puts the best into `winners`.
  void settle(std::vector<Undecided>& undecided, SampleSet& winners) {
    // Members of a group come to lie together, in any order.
    std::vector<std::uint32_t> begins(group_count() + 1);
    for (std::size_t g = 0; g < group_count(); ++g) {
      std::uint32_t next = begins[g];
      for (Undecided& of_worker : undecided) next += std::exchange(of_worker.groups[g], next);
      begins[g + 1] = next;
    }
    Ids grouped(begins.back());
    workers_.for_each_chunk(std::ssize(undecided), [&](std::int64_t part, int) {
      Undecided& of_worker = undecided[static_cast<std::size_t>(part)];
      for (const Ids& ids : of_worker.ids) {
        for (const std::uint32_t id : ids) grouped[of_worker.groups[groups_(id)]++] = id;
      }
    });
    const auto members_of = [&](std::size_t g) {
      return std::span(grouped).subspan(begins[g], begins[g + 1] - begins[g]);
    };
    if (!shard_.is_whole()) return settle_over_shards(grouped, begins, winners);
    const Chunks group_chunks = chunks_of_groups();
    workers_.for_each_chunk(group_chunks.size(), [&](std::int64_t chunk, int) {
      bring_best_to_front(static_cast<std::size_t>(group_chunks.begin(chunk)),
                          static_cast<std::size_t>(group_chunks.end(chunk)), members_of);
    });
    for (std::size_t g = 0; g < group_count(); ++g) {
      for (const std::uint32_t id : members_of(g).first(static_cast<std::size_t>(taken_[g]))) {
        winners.insert(id);
      }
    }
  }

  /// Ranks the undecided samples that are here, and puts those into `winners` that are among the
  /// best of all shards.
  /// @param grouped  the samples, group by group
  /// @param begins   where each group begins, and behind the last one the end
  void settle_over_shards(const Ids& grouped, std::span<const std::uint32_t> begins,
                          SampleSet& winners) {
    const Chunks group_chunks = chunks_of_groups();
    std::vector<std::vector<RankedSample>> ranked(static_cast<std::size_t>(group_chunks.size()));
    std::vector<UndecidedGroup> undecided(group_count());
    workers_.for_each_chunk(group_chunks.size(), [&](std::int64_t chunk, int) {
      const auto first = static_cast<std::size_t>(group_chunks.begin(chunk));
      const auto last = static_cast<std::size_t>(group_chunks.end(chunk));
      std::vector<RankedSample>& of_chunk = ranked[static_cast<std::size_t>(chunk)];
      of_chunk.reserve(begins[last] - begins[first]);
      ranker_.rank(std::span(grouped).subspan(begins[first], begins[last] - begins[first]),
                   of_chunk);
      for (std::size_t g = first; g < last; ++g) {
        undecided[g].here =
            std::span(of_chunk).subspan(begins[g] - begins[first], begins[g + 1] - begins[g]);
        undecided[g].taken = taken_[g];
      }
    });
    cut_over_shards(shard_, undecided, workers_);
    for (std::size_t g = 0; g < group_count(); ++g) {
      if (undecided[g].best_loser) scratch_.thresholds[g] = *undecided[g].best_loser;
      for (const RankedSample& sample : undecided[g].winners()) winners.insert(sample.id);
    }
  }

  /// Orders the members of each of these groups so that the `taken_` best come first.
  template <class MembersOf>
  void bring_best_to_front(std::size_t first_group, std::size_t last_group,
                           const MembersOf& members_of) const {
    // Neighbouring groups are ranked together: their losses lie all over the memory, and
    // asking for many at a time takes hardly longer than asking for one.
    constexpr std::size_t Together = 4096;
    std::vector<RankedSample> ranked;
    for (std::size_t g = first_group; g < last_group; ++g) {
      if (!is_open(g, members_of(g).size())) continue;
      std::size_t end = g;
      std::size_t count = 0;
      for (; end < last_group && count < Together && is_open(end, members_of(end).size()); ++end) {
        count += members_of(end).size();
      }
      ranked.clear();
      ranker_.rank({members_of(g).data(), count}, ranked);
      auto first = ranked.begin();
      for (; g < end; ++g) {
        const auto last = first + static_cast<std::ptrdiff_t>(members_of(g).size());
        std::nth_element(first, first + taken_[g], last);
        scratch_.thresholds[g] = (first + taken_[g])->key;
        std::transform(first, first + taken_[g], members_of(g).begin(),
                       [](const RankedSample& sample) { return sample.id; });
        first = last;
      }
      --g;
    }
  }

  /// Whether one of a group's undecided samples is its best loser.
  [[nodiscard]] bool is_open(std::size_t group, std::size_t member_count) const {
    return taken_[group] < static_cast<std::int64_t>(member_count);
  }

  const Groups& groups_;
  R& ranker_;
  const Shard& shard_;
  std::span<const std::int64_t> counts_;
  const Workers& workers_;
  DrawScratch& scratch_;
  Chunks chunks_;
  std::vector<std::int64_t> with_loser_;   ///< per group, how many win, and one more
  std::vector<std::uint8_t> deciding_;     ///< per group, the bin of its best loser
  std::vector<std::uint32_t> higher_;      ///< per group, how many lie in higher bins
  std::vector<std::uint8_t> lowest_open_;  ///< per group, of its `OpenBins` open bins
  std::vector<std::int64_t> taken_;        ///< per group, how many in its open bins win
  // Of shards:
  std::vector<std::int64_t> histogram_of_all_;
  std::vector<std::int64_t> higher_in_all_;
};

}  // namespace rcap
