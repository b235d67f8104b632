#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "core/bins.hpp"
#include "core/bytes.hpp"
#include "core/chunks.hpp"
#include "core/groups.hpp"
#include "core/keys.hpp"
#include "core/ranker.hpp"
#include "rcap/core/class_index.hpp"
#include "rcap/core/weighted_draw.hpp"

namespace rcap {

/// Ranks the samples of each class by `race_key`: the exponential race of `draw_weighted`.
///
/// Bins come from coarse keys. They have one width for all classes, and those of a class
/// span a few nats around the key expected of its last winner (which falls by the logarithm
/// of how many more win); what lies outside shares the end bins. Until `aim_at` is called
/// all samples lie in the lowest.
///
/// Refers to `classes` and to the losses, which must outlive it. Holds a number for each
/// class; the first draw of a pruner also samples keys, about 64 for each class.
///
/// Of shards, all lay out the bins alike: by what all of them know, and by arithmetic that is the
/// same on every machine.
template <class Label>
class RaceRanker {
 public:
  /// @param bin_bits  each class has 2^bin_bits bins; at most 8
  RaceRanker(const ClassIndex& classes, const LabelGroups<Label>& groups,
             const LossWeights& weights, const RandomStream& stream, int bin_bits)
      : classes_(classes),
        groups_(groups),
        weights_(weights),
        stream_(stream),
        bin_count_(1 << bin_bits),
        bins_per_nat_(bin_count_ / SpannedNats),
        scale_{static_cast<float>(bins_per_nat_ / weights.beta), static_cast<float>(bins_per_nat_)},
        starts_(classes.class_sizes().size(), LowestBin) {}

  /// Lays out the bins so that they set the best `counts[j]` of each class apart: around
  /// the keys where the last draw ended, or else where sampled keys suggest.
  void aim_at(std::span<const std::int64_t> counts, DrawScratch& last) {
    const bool first_draw = last.thresholds.size() != counts.size();
    std::vector<std::vector<float>> sampled(first_draw ? counts.size() : 0);
    if (first_draw) sample_keys(sampled);
    const std::int64_t winners = std::reduce(counts.begin(), counts.end());
    most_are_lowest_ = winners * FewWinners < classes_.sample_count();
    const double margin = most_are_lowest_ && guessed_well(last) ? TightMargin : WideMargin;
    last.guesses.resize(first_draw ? 0 : counts.size());
    for (std::size_t j = 0; j < counts.size(); ++j) {
      const auto count = static_cast<double>(counts[j]);
      const double guess = first_draw
                               ? guess_from(sampled[j], count / static_cast<double>(sizes()[j]))
                               : last.thresholds[j] - log_of_ratio(counts[j], last.counts[j]);
      if (!first_draw) last.guesses[j] = guess;
      const double lowest = guess - margin - MarginInDeviations / std::sqrt(count);
      const auto start = static_cast<float>(-lowest * bins_per_nat_);
      if (std::abs(start) < LargestStart) starts_[j] = start;
      if (all_lie_at_one_end(j, counts[j])) starts_[j] = counts[j] == 0 ? LowestBin : HighestBin;
    }
  }

  /// Moves the bins of classes whose winners ended in the lowest ones, if it pays to look
  /// at all samples again.
  bool aim_lower(std::span<const std::uint8_t> lowest_open, std::span<const std::int64_t> counts) {
    std::int64_t samples = 0;
    std::vector<std::size_t> low;
    for (std::size_t j = 0; j < counts.size(); ++j) {
      if (lowest_open[j] != 0 || counts[j] == 0 || !std::isfinite(starts_[j])) continue;
      low.push_back(j);
      samples += sizes()[j];
    }
    if (aimed_lower_ == MostAims || samples * FewUndecided < classes_.sample_count()) return false;
    ++aimed_lower_;
    for (const std::size_t j : low) {
      const auto lower = starts_[j] + static_cast<float>(bin_count_ - 2 * Neighbours);
      starts_[j] = std::abs(lower) < LargestStart ? lower : LowestBin;
    }
    return true;
  }

  static constexpr int Neighbours = 1;
  [[nodiscard]] bool most_are_lowest() const { return most_are_lowest_; }
  [[nodiscard]] int bin_count() const { return bin_count_; }
  [[nodiscard]] bool all_lie_at_one_end(std::size_t j, std::int64_t count) const {
    return count == 0 || count == sizes()[j];
  }

  void find_bins(SampleId first, std::size_t count, std::uint8_t* bins) const {
    float places[BlockSamples];
    places_of(first, count, places);
    bins_of_places(places, count, bin_count_, bins);
  }

  void rank(std::span<const std::uint32_t> ids, std::vector<RankedSample>& ranked) const {
    float losses[BlockSamples];
    std::uint64_t bits[BlockSamples];
    double keys[BlockSamples];
    while (!ids.empty()) {
      const std::size_t count = std::min(BlockSamples, ids.size());
      for (std::size_t i = 0; i < count; ++i) {
        losses[i] = weights_.losses[ids[i]];
        bits[i] = stream_.bits(ids[i]);
      }
      exact_keys(losses, bits, count, weights_.beta, keys);
      for (std::size_t i = 0; i < count; ++i) ranked.push_back({keys[i], bits[i], ids[i]});
      ids = ids.subspan(count);
    }
  }

  /// The places of samples on the scale of the bins of their class.
  void places_of(SampleId first, std::size_t count, float* places) const {
    coarse_keys(stream_, first, weights_.losses.data() + first, count, scale_, places);
    add_starts(groups_.labels + first, starts_.data(), count, places);
  }

 private:
  static constexpr double SpannedNats = 2.0;
  /// How far (in nats) the bins begin below the guessed key of the last winner. Too high a
  /// guess is the worse mistake: the lowest bin then holds most of the class. The guess is off by
  /// what losses have changed, and by chance: a deviation is about 1 / sqrt(count).
  static constexpr double WideMargin = 1.2;
  static constexpr double TightMargin = 0.3;
  static constexpr double MarginInDeviations = 4.0;
  /// If fewer than one in this many win, bins begin so high that most samples lie in the
  /// lowest.
  static constexpr std::int64_t FewWinners = 5;
  /// Ranking one sample exactly costs as much as the first pass for several: fewer than one
  /// in this many are not worth another pass. Nor are keys that fall without end.
  static constexpr std::int64_t FewUndecided = 8;
  static constexpr int MostAims = 4;
  static constexpr std::int64_t SampledPerClass = 64;
  /// Classes with fewer sampled keys, or with keys so large that single precision cannot
  /// tell the bins apart, have all samples in one bin and so are ranked exactly.
  static constexpr std::size_t LeastSampled = 4;
  static constexpr float LargestStart = 0x1p15F;
  static constexpr float LowestBin = -std::numeric_limits<float>::infinity();
  static constexpr float HighestBin = std::numeric_limits<float>::infinity();
  /// Half a bin is what one neighbour allows: of two places more than a bin apart, both off
  /// by less, the higher one has the higher exact key. Places below `LargestStart` round by
  /// 2^-9 of a bin at each of the steps that lead to them; those far above round by more,
  /// but a bin so high is the highest one anyway.
  static_assert(NoiseError * 256 / SpannedNats + 8 * 0x1p-9 < 0.5, "256 bins are the most");

  [[nodiscard]] std::span<const std::int64_t> sizes() const { return classes_.class_sizes(); }

  /// ln(a / b); infinite if one of them is 0.
  [[nodiscard]] static double log_of_ratio(std::int64_t a, std::int64_t b) {
    if (a == 0 || b == 0) return std::numeric_limits<double>::infinity();
    return exact_log(static_cast<double>(a) / static_cast<double>(b));
  }

  /// Coarse keys of about `SampledPerClass` samples of an average class. They are taken in
  /// short runs, one from each stretch of equal length, at a random place in it: a plain
  /// stride could fall in step with the labels.
  void sample_keys(std::vector<std::vector<float>>& sampled) const {
    constexpr std::int64_t Run = 16;
    const std::int64_t part = std::max<std::int64_t>(
        1, classes_.sample_count() / (SampledPerClass * classes_.class_count()));
    const Chunks stretches{classes_.local_count(), part * Run};
    for (std::int64_t stretch = 0; stretch < stretches.size(); ++stretch) {
      const std::int64_t length = stretches.end(stretch) - stretches.begin(stretch);
      const std::uint64_t places =
          static_cast<std::uint64_t>(std::max(length - Run, std::int64_t{0})) + 1;
      const SampleId first =
          stretches.begin(stretch) +
          static_cast<SampleId>(mix64(static_cast<std::uint64_t>(stretch)) % places);
      const auto count = static_cast<std::size_t>(std::min(length, Run));
      float keys[Run];
      coarse_keys(stream_, first, weights_.losses.data() + first, count, scale_, keys);
      for (std::size_t i = 0; i < count; ++i) {
        sampled[groups_(first + static_cast<SampleId>(i))].push_back(keys[i]);
      }
    }
    if (!classes_.shard().is_whole()) gather_sampled(sampled);
  }

  /// Replaces the keys by those of all shards.
  void gather_sampled(std::vector<std::vector<float>>& sampled) const {
    struct SampledKey {
      std::uint32_t group;
      float key;
    };
    std::vector<SampledKey> here;
    for (std::size_t j = 0; j < sampled.size(); ++j) {
      for (const float key : sampled[j]) here.push_back({static_cast<std::uint32_t>(j), key});
      sampled[j].clear();
    }
    for (const SampledKey& one : gather_values<SampledKey>(classes_.shard().exchange(), here)) {
      sampled[one.group].push_back(one.key);
    }
  }

  /// Whether the last draw ended about where it was expected to: then this one should too.
  /// Losses move most in the first epochs, and a small sample tells less than a draw.
  [[nodiscard]] bool guessed_well(const DrawScratch& last) const {
    if (last.guesses.size() != sizes().size()) return false;
    std::int64_t missed = 0;
    for (std::size_t j = 0; j < last.guesses.size(); ++j) {
      const bool has_losers = std::isfinite(last.thresholds[j]);
      if (has_losers && last.thresholds[j] < last.guesses[j] - TightMargin) missed += sizes()[j];
    }
    return missed * FewUndecided < classes_.sample_count();
  }

  /// The key of the last winner as a sample of the class suggests; NaN where the sample is
  /// too small to tell.
  [[nodiscard]] double guess_from(std::span<float> sampled, double kept_part) const {
    if (sampled.size() < LeastSampled) return std::numeric_limits<double>::quiet_NaN();
    const double winners = kept_part * static_cast<double>(sampled.size());
    const auto rank = std::min(static_cast<std::size_t>(winners), sampled.size() - 1);
    const auto guess = sampled.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(sampled.begin(), guess, sampled.end(), std::greater<>());
    return static_cast<double>(*guess) / bins_per_nat_;
  }

  const ClassIndex& classes_;
  LabelGroups<Label> groups_;
  LossWeights weights_;
  RandomStream stream_;
  int bin_count_;
  double bins_per_nat_;
  KeyScale scale_;
  bool most_are_lowest_ = false;
  int aimed_lower_ = 0;        ///< how often
  std::vector<float> starts_;  ///< place of a sample = coarse key + start of its class
};

}  // namespace rcap
