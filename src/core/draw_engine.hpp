#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "core/chunks.hpp"
#include "core/keys.hpp"
#include "rcap/core/random_stream.hpp"
#include "rcap/core/sample_set.hpp"
#include "rcap/core/weighted_draw.hpp"

namespace rcap {

/// Note [Drawing in two passes]
///
/// A draw ranks the samples of each group and takes the best `counts[g]`. Sorting them,
/// or moving them to their groups, would cost many times the keys. Instead:
///
///  1. One pass over all samples puts each into one of up to 256 bins of its group, the
///     higher the better, and counts the bins. A byte a sample remembers the bin.
///  2. The counts tell for every group the one bin in which its last winner lies.
///  3. A second pass over the bytes takes all samples in higher bins; those of the
///     deciding bin, about one in a hundred, are gathered.
///  4. The gathered ones are ranked exactly, group by group.
///
/// A bin is a monotone function of the exact rank, so the result is that of a full sort
/// and does not depend on how the bins are laid out, which is a matter of speed.

/// The exact rank of a sample in its group. Keys can be equal; bits never are.
struct RankedSample {
  double key;          ///< larger is better
  std::uint64_t bits;  ///< then smaller is better
  std::uint32_t id;

  bool operator<(const RankedSample& other) const {
    return key != other.key ? key > other.key : bits < other.bits;
  }
};

/// Groups that are classes.
template <class Label>
struct LabelGroups {
  const Label* labels;
  std::size_t operator()(SampleId id) const { return labels[id]; }
};

/// All samples in one group.
struct OneGroup {
  std::size_t operator()(SampleId) const { return 0; }
};

/// Members of a set in group 0, the others in group 1.
struct MemberGroups {
  const SampleSet* members;
  std::size_t operator()(SampleId id) const { return members->contains(id) ? 0 : 1; }
};

/// Counts the samples from `first` on in their bins. The counts lie bin by bin, a row of
/// all groups each: most samples are in the end bins, so most counting stays in two rows.
template <class Groups>
void count_in_bins(Groups groups, std::uint32_t row, SampleId first, const std::uint8_t* bins,
                   std::size_t count, std::uint32_t* histogram) {
  // Cells first: that loop is vectorised, and the one that counts then never waits.
  std::uint32_t cells[BlockSamples];
  if constexpr (requires { groups.labels; }) {
    cells_of(bins, groups.labels + first, count, row, cells);
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      const auto group = static_cast<std::uint32_t>(groups(first + static_cast<SampleId>(i)));
      cells[i] = bins[i] * row + group;
    }
  }
  for (std::size_t i = 0; i < count; ++i) ++histogram[cells[i]];
}

/// Ranks by the random bits alone: every member of a group equally likely.
class UniformRanker {
 public:
  UniformRanker(const RandomStream& stream, int bin_bits) : stream_(stream), bin_bits_(bin_bits) {}

  [[nodiscard]] int bin_count() const { return 1 << bin_bits_; }

  /// Finds the bin of `count` samples from `first` on.
  void find_bins(SampleId first, std::size_t count, std::uint8_t* bins) const {
    std::uint64_t bits[BlockSamples];
    stream_bits(stream_, first, count, bits);
    const auto top = static_cast<std::uint64_t>(bin_count() - 1);
    for (std::size_t i = 0; i < count; ++i) {
      bins[i] = static_cast<std::uint8_t>(top - ((bits[i] >> 1) >> (63 - bin_bits_)));
    }
  }

  /// Appends the exact ranks of these samples.
  void rank(std::span<const std::uint32_t> ids, std::vector<RankedSample>& ranked) const {
    for (const std::uint32_t id : ids) ranked.push_back({0.0, stream_.bits(id), id});
  }

 private:
  RandomStream stream_;
  int bin_bits_;
};

/// How many bins (as a power of two) serve groups of this average size: enough that few
/// samples share the deciding bin, few enough that the counts stay in the cache.
inline int bin_bits_for(std::int64_t sample_count, std::size_t group_count) {
  const auto average = static_cast<std::uint64_t>(sample_count) / group_count;
  return std::clamp(static_cast<int>(std::bit_width(average / 16)), 0, 8);
}

/// One draw of Note [Drawing in two passes].
template <class Groups, class Ranker>
class Draw {
 public:
  Draw(const Groups& groups, const Ranker& ranker, std::int64_t sample_count,
       std::span<const std::int64_t> counts, const Workers& workers, DrawScratch& scratch)
      : groups_(groups),
        ranker_(ranker),
        counts_(counts),
        workers_(workers),
        scratch_(scratch),
        chunks_{sample_count, ChunkSamples} {}

  SampleSet run() {
    scratch_.last_keys.resize(group_count(), std::numeric_limits<double>::quiet_NaN());
    count_bins();
    find_deciding_bins();
    SampleSet winners(chunks_.count);
    const auto undecided = take_higher_bins(winners);
    settle(undecided, winners);
    return winners;
  }

 private:
  static constexpr std::int64_t ChunkSamples = 1 << 14;
  using Ids = std::vector<std::uint32_t>;

  [[nodiscard]] std::size_t group_count() const { return counts_.size(); }
  [[nodiscard]] std::uint32_t& in_bin(std::size_t bin, std::size_t group) {
    return scratch_.histograms.front()[bin * group_count() + group];
  }

  void count_bins() {
    const std::size_t cells = static_cast<std::size_t>(ranker_.bin_count()) * group_count();
    scratch_.bins.resize(static_cast<std::size_t>(chunks_.count));
    scratch_.histograms.resize(static_cast<std::size_t>(workers_.count()));
    for (auto& histogram : scratch_.histograms) histogram.clear();
    workers_.for_each_chunk(chunks_.size(), [&](std::int64_t chunk, int worker) {
      std::vector<std::uint32_t>& counted = scratch_.histograms[static_cast<std::size_t>(worker)];
      if (counted.empty()) counted.resize(cells);
      std::uint32_t* histogram = counted.data();
      for (SampleId first = chunks_.begin(chunk); first < chunks_.end(chunk);) {
        const auto left = static_cast<std::size_t>(chunks_.end(chunk) - first);
        const std::size_t count = std::min(BlockSamples, left);
        std::uint8_t* bins = scratch_.bins.data() + first;
        ranker_.find_bins(first, count, bins);
        count_in_bins(groups_, static_cast<std::uint32_t>(group_count()), first, bins, count,
                      histogram);
        first += static_cast<SampleId>(count);
      }
    });
    std::vector<std::uint32_t>& total = scratch_.histograms.front();
    total.resize(cells);  // a worker that came too late to get a chunk has none
    for (const auto& other : std::span(scratch_.histograms).subspan(1)) {
      for (std::size_t i = 0; i < other.size(); ++i) total[i] += other[i];
    }
  }

  void find_deciding_bins() {
    deciding_bins_.resize(group_count());
    taken_.assign(counts_.begin(), counts_.end());
    for (std::size_t g = 0; g < group_count(); ++g) {
      auto bin = static_cast<std::size_t>(ranker_.bin_count() - 1);
      for (; bin > 0 && taken_[g] > in_bin(bin, g); --bin) taken_[g] -= in_bin(bin, g);
      deciding_bins_[g] = static_cast<std::uint8_t>(bin);
    }
  }

  /// Puts the samples of higher bins into `winners`; returns those of the deciding bins.
  std::vector<Ids> take_higher_bins(SampleSet& winners) {
    std::vector<Ids> undecided(static_cast<std::size_t>(chunks_.size()));
    workers_.for_each_chunk(chunks_.size(), [&](std::int64_t chunk, int) {
      // Copies: a store of bytes could change what lies behind a reference, as far as the
      // compiler knows, and would have it read again for every sample.
      const Groups groups = groups_;
      const std::uint8_t* deciding_bins = deciding_bins_.data();
      Ids& gathered = undecided[static_cast<std::size_t>(chunk)];
      for (SampleId first = chunks_.begin(chunk); first < chunks_.end(chunk);) {
        const auto left = static_cast<std::size_t>(chunks_.end(chunk) - first);
        const std::size_t count = std::min(BlockSamples, left);
        std::uint8_t deciding[BlockSamples];
        for (std::size_t i = 0; i < count; ++i) {
          deciding[i] = deciding_bins[groups(first + static_cast<SampleId>(i))];
        }
        std::uint64_t equal[BlockSamples / 64];
        compare_bins(scratch_.bins.data() + first, deciding, count,
                     winners.words().data() + first / 64, equal);
        for (std::size_t word = 0; word < (count + 63) / 64; ++word) {
          for_each_bit(
              equal[word], first + static_cast<SampleId>(64 * word),
              [&gathered](SampleId id) { gathered.push_back(static_cast<std::uint32_t>(id)); });
        }
        first += static_cast<SampleId>(count);
      }
    });
    return undecided;
  }

  /// Ranks the undecided samples of each group and puts the best into `winners`.
  void settle(const std::vector<Ids>& undecided, SampleSet& winners) {
    std::vector<std::size_t> ends(group_count());
    std::size_t total = 0;
    for (std::size_t g = 0; g < group_count(); ++g) {
      ends[g] = total;
      total += in_bin(deciding_bins_[g], g);
    }
    Ids grouped(total);
    for (const Ids& gathered : undecided) {
      for (const std::uint32_t id : gathered) grouped[ends[groups_(id)]++] = id;
    }
    const auto members_of = [&](std::size_t g) {
      const std::size_t begin = g == 0 ? 0 : ends[g - 1];
      return std::span(grouped).subspan(begin, ends[g] - begin);
    };
    const Chunks group_chunks{static_cast<std::int64_t>(group_count()), 64};
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
        scratch_.last_keys[g] = (first + taken_[g])->key;
        std::transform(first, first + taken_[g], members_of(g).begin(),
                       [](const RankedSample& sample) { return sample.id; });
        first = last;
      }
      --g;
    }
  }

  /// Whether some of a group's undecided samples win and some do not.
  [[nodiscard]] bool is_open(std::size_t group, std::size_t member_count) const {
    return taken_[group] > 0 && taken_[group] < static_cast<std::int64_t>(member_count);
  }

  const Groups& groups_;
  const Ranker& ranker_;
  std::span<const std::int64_t> counts_;
  const Workers& workers_;
  DrawScratch& scratch_;
  Chunks chunks_;
  std::vector<std::uint8_t> deciding_bins_;
  std::vector<std::int64_t> taken_;  ///< how many of the deciding bin win
};

/// The best `counts[g]` samples of each group g, at most as many as the group has.
template <class Groups, class Ranker>
SampleSet draw_best(const Groups& groups, const Ranker& ranker, std::int64_t sample_count,
                    std::span<const std::int64_t> counts, const Workers& workers,
                    DrawScratch& scratch) {
  return Draw(groups, ranker, sample_count, counts, workers, scratch).run();
}

/// `counts[g]` samples of each group g, all members of a group equally likely.
template <class Groups>
SampleSet draw_equally(const Groups& groups, const RandomStream& stream, std::int64_t sample_count,
                       std::span<const std::int64_t> counts, const Workers& workers) {
  const UniformRanker ranker(stream, bin_bits_for(sample_count, counts.size()));
  DrawScratch scratch;
  return draw_best(groups, ranker, sample_count, counts, workers, scratch);
}

}  // namespace rcap
