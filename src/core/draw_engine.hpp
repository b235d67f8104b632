#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/keys.hpp"
#include "core/parallel.hpp"
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

/// Ranks by the random bits alone: every member of a group equally likely.
template <class Groups>
class UniformRanker {
 public:
  UniformRanker(const Groups& groups, std::size_t group_count, const RandomStream& stream,
                int bin_bits)
      : groups_(groups), group_count_(group_count), stream_(stream), bin_bits_(bin_bits) {}

  [[nodiscard]] int bin_count() const { return 1 << bin_bits_; }

  /// Finds the bin of each sample and counts it. The counts lie bin by bin, a row of all
  /// groups each: most samples are in the end bins, so most counting stays in two rows.
  void count_bins(SampleId first, std::size_t count, std::uint8_t* bins,
                  std::uint32_t* histogram) const {
    std::uint64_t bits[BlockSamples];
    stream_bits(stream_, first, count, bits);
    const auto top = static_cast<std::uint64_t>(bin_count() - 1);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t bin = top - ((bits[i] >> 1) >> (63 - bin_bits_));
      bins[i] = static_cast<std::uint8_t>(bin);
      ++histogram[bin * group_count_ + groups_(first + static_cast<SampleId>(i))];
    }
  }

  void rank(std::span<const std::uint32_t> ids, std::vector<RankedSample>& ranked) const {
    ranked.clear();
    for (const std::uint32_t id : ids) ranked.push_back({0.0, stream_.bits(id), id});
  }

 private:
  Groups groups_;
  std::size_t group_count_;
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
       std::span<const std::int64_t> counts, int threads, DrawScratch& scratch)
      : groups_(groups),
        ranker_(ranker),
        counts_(counts),
        threads_(threads),
        scratch_(scratch),
        chunks_{sample_count, ChunkSamples} {}

  SampleSet run() {
    count_bins();
    find_deciding_bins();
    SampleSet winners(chunks_.count);
    const auto undecided = take_higher_bins(winners);
    settle(undecided, winners);
    return winners;
  }

 private:
  static constexpr std::int64_t ChunkSamples = 1 << 16;
  using Ids = std::vector<std::uint32_t>;

  [[nodiscard]] std::size_t group_count() const { return counts_.size(); }
  [[nodiscard]] std::uint32_t& in_bin(std::size_t bin, std::size_t group) {
    return scratch_.histograms.front()[bin * group_count() + group];
  }

  void count_bins() {
    const std::size_t cells = static_cast<std::size_t>(ranker_.bin_count()) * group_count();
    scratch_.bins.resize(static_cast<std::size_t>(chunks_.count));
    scratch_.histograms.resize(static_cast<std::size_t>(worker_count(chunks_.size(), threads_)));
    for (auto& histogram : scratch_.histograms) histogram.assign(cells, 0);
    for_each_chunk(chunks_.size(), threads_, [&](std::int64_t chunk, int worker) {
      std::uint32_t* histogram = scratch_.histograms[static_cast<std::size_t>(worker)].data();
      for (SampleId first = chunks_.begin(chunk); first < chunks_.end(chunk);) {
        const auto left = static_cast<std::size_t>(chunks_.end(chunk) - first);
        const std::size_t count = std::min(BlockSamples, left);
        ranker_.count_bins(first, count, scratch_.bins.data() + first, histogram);
        first += static_cast<SampleId>(count);
      }
    });
    std::vector<std::uint32_t>& total = scratch_.histograms.front();
    for (const auto& other : std::span(scratch_.histograms).subspan(1)) {
      for (std::size_t i = 0; i < total.size(); ++i) total[i] += other[i];
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
    for_each_chunk(chunks_.size(), threads_, [&](std::int64_t chunk, int) {
      Ids& gathered = undecided[static_cast<std::size_t>(chunk)];
      for (SampleId first = chunks_.begin(chunk); first < chunks_.end(chunk); first += 64) {
        const auto left = static_cast<std::size_t>(chunks_.end(chunk) - first);
        const auto [higher, equal] = compare_bins(first, std::min<std::size_t>(64, left));
        winners.words()[static_cast<std::size_t>(first) / 64] = higher;
        for_each_bit(equal, first, [&gathered](SampleId id) {
          gathered.push_back(static_cast<std::uint32_t>(id));
        });
      }
    });
    return undecided;
  }

  struct Comparison {
    std::uint64_t higher;
    std::uint64_t equal;
  };

  /// Compares the bins of up to 64 samples with the deciding ones, a bit a sample.
  [[nodiscard]] Comparison compare_bins(SampleId first, std::size_t count) const {
    const std::uint8_t* bins = scratch_.bins.data() + first;
    std::array<std::uint8_t, 64> deciding;
    std::array<std::uint8_t, 64> higher{};
    std::array<std::uint8_t, 64> equal{};
    for (std::size_t i = 0; i < count; ++i) {
      deciding[i] = deciding_bins_[groups_(first + static_cast<SampleId>(i))];
    }
    for (std::size_t i = 0; i < count; ++i) higher[i] = bins[i] > deciding[i];
    for (std::size_t i = 0; i < count; ++i) equal[i] = bins[i] == deciding[i];
    return {pack_bits(higher), pack_bits(equal)};
  }

  /// Bit i of the result is byte i, which is 0 or 1.
  static std::uint64_t pack_bits(const std::array<std::uint8_t, 64>& bytes) {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      std::uint64_t eight;
      std::memcpy(&eight, bytes.data() + 8 * i, sizeof eight);
      // The product brings byte j of the eight to bit 56 + j.
      bits |= ((eight * 0x0102040810204080U) >> 56) << (8 * i);
    }
    return bits;
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
    const Chunks group_chunks{static_cast<std::int64_t>(group_count()), 16};
    for_each_chunk(group_chunks.size(), threads_, [&](std::int64_t chunk, int) {
      std::vector<RankedSample> ranked;
      for (std::int64_t g = group_chunks.begin(chunk); g < group_chunks.end(chunk); ++g) {
        bring_best_to_front(members_of(static_cast<std::size_t>(g)),
                            taken_[static_cast<std::size_t>(g)], ranked);
      }
    });
    for (std::size_t g = 0; g < group_count(); ++g) {
      for (const std::uint32_t id : members_of(g).first(static_cast<std::size_t>(taken_[g]))) {
        winners.insert(id);
      }
    }
  }

  void bring_best_to_front(std::span<std::uint32_t> members, std::int64_t taken,
                           std::vector<RankedSample>& ranked) const {
    if (taken == 0 || taken == static_cast<std::int64_t>(members.size())) return;
    ranker_.rank(members, ranked);
    std::nth_element(ranked.begin(), ranked.begin() + taken, ranked.end());
    for (std::size_t i = 0; i < static_cast<std::size_t>(taken); ++i) members[i] = ranked[i].id;
  }

  const Groups& groups_;
  const Ranker& ranker_;
  std::span<const std::int64_t> counts_;
  int threads_;
  DrawScratch& scratch_;
  Chunks chunks_;
  std::vector<std::uint8_t> deciding_bins_;
  std::vector<std::int64_t> taken_;  ///< how many of the deciding bin win
};

/// The best `counts[g]` samples of each group g, at most as many as the group has.
template <class Groups, class Ranker>
SampleSet draw_best(const Groups& groups, const Ranker& ranker, std::int64_t sample_count,
                    std::span<const std::int64_t> counts, int threads, DrawScratch& scratch) {
  return Draw(groups, ranker, sample_count, counts, threads, scratch).run();
}

/// `counts[g]` samples of each group g, all members of a group equally likely.
template <class Groups>
SampleSet draw_equally(const Groups& groups, const RandomStream& stream, std::int64_t sample_count,
                       std::span<const std::int64_t> counts, int threads) {
  const UniformRanker ranker(groups, counts.size(), stream,
                             bin_bits_for(sample_count, counts.size()));
  DrawScratch scratch;
  return draw_best(groups, ranker, sample_count, counts, threads, scratch);
}

}  // namespace rcap
