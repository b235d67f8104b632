#include "core/shard_cut.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <vector>

#include "core/bytes.hpp"
#include "core/chunks.hpp"

namespace rcap {
namespace {

__extension__ using Wide = unsigned __int128;

/// Numbers in the order of the keys, the largest first.
std::uint64_t code_of(double key) {
  const auto bits = std::bit_cast<std::uint64_t>(key + 0.0);  // both zeros are one
  return (bits >> 63) != 0 ? bits : ~(bits | std::uint64_t{1} << 63);
}

double key_of(std::uint64_t code) {
  return std::bit_cast<double>((code >> 63) != 0 ? code : ~code & ~(std::uint64_t{1} << 63));
}

/// Numbers in the order of ranks, the best first; no two are equal.
Wide code_of(const RankedSample& sample) { return Wide{code_of(sample.key)} << 64 | sample.bits; }

/// The same order in signed numbers, which ranks compare.
std::int64_t as_signed(std::uint64_t code) {
  return std::bit_cast<std::int64_t>(code ^ std::uint64_t{1} << 63);
}
std::uint64_t as_code(std::int64_t number) {
  return std::bit_cast<std::uint64_t>(number) ^ std::uint64_t{1} << 63;
}

constexpr int BinBits = 6;
constexpr std::size_t Bins = std::size_t{1} << BinBits;
/// So many samples of a group take as many bytes to gather as another round of bins.
constexpr std::int64_t FewSamples = 24;

/// A group of which some win and some do not.
struct Cut {
  UndecidedGroup* group;
  std::span<RankedSample> left;  ///< here, not decided yet
  std::int64_t taken;            ///< how many of them win in all shards
  std::int64_t count;            ///< how many there are in all shards
  Wide lowest = 0;               ///< their codes, in all shards, lie from here ...
  int shift = 0;                 ///< ... in `Bins` bins of 2^shift
};

struct Gathered {
  std::uint64_t key_code, bits, cut;
  auto operator<=>(const Gathered&) const = default;
};

class ShardCut {
 public:
  ShardCut(const Shard& shard, std::span<UndecidedGroup> groups, const Workers& workers)
      : shard_(shard), workers_(workers) {
    std::vector<std::int64_t> counts(groups.size());
    std::ranges::transform(groups, counts.begin(), [](const UndecidedGroup& group) {
      return static_cast<std::int64_t>(group.here.size());
    });
    shard.add_up(counts);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      UndecidedGroup& group = groups[g];
      if (group.taken == counts[g]) {  // no loser is among them
        group.winners_here = group.here.size();
      } else {
        cuts_.push_back({&group, group.here, group.taken, counts[g]});
      }
    }
  }

  void run() {
    if (cuts_.empty()) return;
    find_intervals();
    while (left() > FewSamples * std::ssize(cuts_)) narrow();
    gather();
  }

 private:
  /// How many samples are left in all groups.
  [[nodiscard]] std::int64_t left() const {
    std::int64_t samples = 0;
    for (const Cut& cut : cuts_) samples += cut.count;
    return samples;
  }

  template <class F>
  void for_each_cut(const F& f) const {
    const Chunks chunks{std::ssize(cuts_), 16};
    workers_.for_each_chunk(chunks.size(), [&](std::int64_t chunk, int) {
      for (std::int64_t i = chunks.begin(chunk); i < chunks.end(chunk); ++i) {
        f(static_cast<std::size_t>(i));
      }
    });
  }

  /// Lays the bins over all that is there.
  void find_intervals() {
    std::vector<std::int64_t> ends(2 * cuts_.size(), std::numeric_limits<std::int64_t>::min());
    for_each_cut([&](std::size_t i) {
      for (const RankedSample& sample : cuts_[i].left) {
        const std::uint64_t code = code_of(sample.key);
        ends[2 * i] = std::max(ends[2 * i], as_signed(code));
        ends[2 * i + 1] = std::max(ends[2 * i + 1], as_signed(~code));
      }
    });
    shard_.raise(ends);
    for (std::size_t i = 0; i < cuts_.size(); ++i) {
      const std::uint64_t highest = as_code(ends[2 * i]);
      const std::uint64_t lowest = ~as_code(ends[2 * i + 1]);
      cuts_[i].lowest = Wide{lowest} << 64;
      cuts_[i].shift = 64 - BinBits + static_cast<int>(std::bit_width(highest - lowest));
    }
  }

  static std::size_t bin_of(const Cut& cut, const RankedSample& sample) {
    return static_cast<std::size_t>((code_of(sample) - cut.lowest) >> cut.shift);
  }

  /// Makes each interval one of its bins.
  void narrow() {
    std::vector<std::int64_t> histograms(cuts_.size() * Bins);
    for_each_cut([&](std::size_t i) {
      for (const RankedSample& sample : cuts_[i].left) {
        ++histograms[i * Bins + bin_of(cuts_[i], sample)];
      }
    });
    shard_.add_up(histograms);
    for_each_cut([&](std::size_t i) {
      Cut& cut = cuts_[i];
      std::size_t bin = 0;  // of the best loser
      for (; histograms[i * Bins + bin] <= cut.taken; ++bin)
        cut.taken -= histograms[i * Bins + bin];
      cut.count = histograms[i * Bins + bin];
      const auto not_better =
          std::partition(cut.left.begin(), cut.left.end(),
                         [&](const RankedSample& sample) { return bin_of(cut, sample) < bin; });
      const auto worse =
          std::partition(not_better, cut.left.end(),
                         [&](const RankedSample& sample) { return bin_of(cut, sample) == bin; });
      cut.group->winners_here += static_cast<std::size_t>(not_better - cut.left.begin());
      cut.left = std::span(not_better, worse);
      cut.lowest += static_cast<Wide>(bin) << cut.shift;
      cut.shift = std::max(cut.shift - BinBits, 0);
    });
  }

  /// Shows the samples that are left to all shards.
  void gather() {
    std::vector<Gathered> here;
    for (std::size_t i = 0; i < cuts_.size(); ++i) {
      for (const RankedSample& sample : cuts_[i].left) {
        here.push_back({code_of(sample.key), sample.bits, i});
      }
    }
    std::vector<std::vector<Gathered>> of_cuts(cuts_.size());
    for (const Gathered& sample : gather_values<Gathered>(shard_.exchange(), here)) {
      of_cuts[sample.cut].push_back(sample);
    }
    for (std::size_t i = 0; i < cuts_.size(); ++i) {
      Cut& cut = cuts_[i];
      const auto loser = of_cuts[i].begin() + cut.taken;
      std::nth_element(of_cuts[i].begin(), loser, of_cuts[i].end());
      cut.group->best_loser = key_of(loser->key_code);
      const Wide code = Wide{loser->key_code} << 64 | loser->bits;
      const auto lost =
          std::partition(cut.left.begin(), cut.left.end(),
                         [&](const RankedSample& sample) { return code_of(sample) < code; });
      cut.group->winners_here += static_cast<std::size_t>(lost - cut.left.begin());
    }
  }

  const Shard& shard_;
  const Workers& workers_;
  std::vector<Cut> cuts_;
};

}  // namespace

void cut_over_shards(const Shard& shard, std::span<UndecidedGroup> groups, const Workers& workers) {
  ShardCut(shard, groups, workers).run();
}

}  // namespace rcap
