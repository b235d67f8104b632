#include "rcap/core/weighted_draw.hpp"

#include <cmath>
#include <limits>
#include <string_view>

#include "core/draw_engine.hpp"
#include "core/formatted.hpp"
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
      throw InvalidArgument(formatted("{}: counts[{}] is {}; it must lie in 0..{}, the class size",
                                      where, j, counts[j], sizes[j]));
    }
  }
}

/// Ranks by `race_key`. The bins of a class have equal width, one for all classes, and
/// span a few nats around the key expected of its last winner; what lies outside shares
/// the end bins.
template <class Groups>
class RaceRanker {
 public:
  RaceRanker(const ClassIndex& classes, const Groups& groups, const LossWeights& weights,
             const RandomStream& stream, int bin_bits)
      : classes_(classes),
        groups_(groups),
        weights_(weights),
        stream_(stream),
        bin_count_(1 << bin_bits),
        bins_per_nat_(bin_count_ / SpannedNats),
        scale_{static_cast<float>(bins_per_nat_ / weights.beta), static_cast<float>(bins_per_nat_)},
        starts_(classes.class_sizes().size(), OneBin) {}

  /// Lays out the bins so that they part the best `counts[j]` of each class well: around
  /// the keys where the last draw ended, or else where a sample suggests.
  void aim_at(std::span<const std::int64_t> counts, std::span<const double> last_keys) {
    const bool first_draw = last_keys.size() != counts.size();
    std::vector<std::vector<float>> sampled(first_draw ? counts.size() : 0);
    if (first_draw) sample_keys(sampled);
    float largest_start = 0;
    for (std::size_t j = 0; j < counts.size(); ++j) {
      const double kept =
          static_cast<double>(counts[j]) / static_cast<double>(classes_.class_sizes()[j]);
      const double guess = first_draw ? guess_from(sampled[j], kept) : last_keys[j] * bins_per_nat_;
      const auto start = static_cast<float>(bin_count_ * GuessedPlace - guess);
      if (!(std::abs(start) < LargestStart)) continue;
      starts_[j] = start;
      largest_start = std::max(largest_start, std::abs(start));
    }
    unsure_ = LeastUnsure + largest_start * 0x1p-21F;
  }

  [[nodiscard]] int bin_count() const { return bin_count_; }

  /// Finds the bin of `count` samples from `first` on: that of the coarse place, or, too
  /// near an edge, in the exact form.
  void find_bins(SampleId first, std::size_t count, std::uint8_t* bins) const {
    float places[BlockSamples];
    std::uint8_t doubts[BlockSamples + 8] = {};
    places_of(first, count, places);
    bins_of_places(places, count, bin_count_, unsure_, bins, doubts);
    for (std::size_t i = 0; i < count; i += 8) {
      std::uint64_t eight;
      std::memcpy(&eight, doubts + i, sizeof eight);
      for (; eight != 0; eight &= eight - 1) {
        const std::size_t k = i + static_cast<std::size_t>(std::countr_zero(eight)) / 8;
        bins[k] = exact_bin(first + static_cast<SampleId>(k));
      }
    }
  }

  /// Appends the exact ranks of these samples.
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

  /// The places of samples on the scale of the bins of their class: all that the first
  /// pass needs the keys for.
  void places_of(SampleId first, std::size_t count, float* places) const {
    coarse_keys(stream_, first, weights_.losses.data() + first, count, scale_, places);
    add_starts(groups_.labels + first, starts_.data(), count, places);
  }

 private:
  /// The width of all bins together, and which part of it lies below the guessed key. A
  /// guess too high is the worse one: the lowest bin then holds most of the class.
  static constexpr double SpannedNats = 2.0;
  static constexpr double GuessedPlace = 0.6;
  static constexpr float LeastUnsure = 1.0F / 512;
  static_assert(NoiseError * 256 / SpannedNats < LeastUnsure / 2, "256 bins are the most");
  static constexpr std::int64_t SampledPerClass = 64;
  /// Classes with fewer sampled keys, or with keys so large that single precision cannot
  /// tell the bins apart, have all samples in one bin and so are ranked exactly.
  static constexpr std::size_t LeastSampled = 4;
  static constexpr float LargestStart = 0x1p15F;
  static constexpr float OneBin = -std::numeric_limits<float>::infinity();

  /// Coarse keys of about `SampledPerClass` samples of an average class. They are taken in
  /// short runs, one of each stretch of equal length, at a random place in it: a plain
  /// stride could fall in step with the labels.
  void sample_keys(std::vector<std::vector<float>>& sampled) const {
    constexpr std::int64_t Run = 16;
    const std::int64_t sample_count = classes_.sample_count();
    const std::int64_t part =
        std::max<std::int64_t>(1, sample_count / (SampledPerClass * classes_.class_count()));
    const Chunks stretches{sample_count, part * Run};
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
  }

  /// The scaled key of the last winner as a sample of the class suggests; NaN where the
  /// sample is too small to tell.
  [[nodiscard]] static double guess_from(std::span<float> sampled, double kept_part) {
    if (sampled.size() < LeastSampled) return std::numeric_limits<double>::quiet_NaN();
    const double winners = kept_part * static_cast<double>(sampled.size());
    const auto rank = std::min(static_cast<std::size_t>(winners), sampled.size() - 1);
    const auto guess = sampled.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(sampled.begin(), guess, sampled.end(), std::greater<>());
    return static_cast<double>(*guess);
  }

  /// floor(key * bins_per_nat + start), cut to the bins there are.
  [[nodiscard]] std::uint8_t exact_bin(SampleId id) const {
    const double key =
        race_key(weights_.losses[static_cast<std::size_t>(id)], weights_.beta, stream_.bits(id));
    const double place = std::floor(key * bins_per_nat_ + starts_[groups_(id)]);
    return static_cast<std::uint8_t>(std::clamp(place, 0.0, static_cast<double>(bin_count_ - 1)));
  }

  const ClassIndex& classes_;
  Groups groups_;
  LossWeights weights_;
  RandomStream stream_;
  int bin_count_;
  double bins_per_nat_;
  KeyScale scale_;
  std::vector<float> starts_;  ///< place of a sample = coarse key + start of its class
  /// So near an edge (in bins) a coarse place does not tell the bin. Half of the constant
  /// part covers the noise, the other half the rounding of a key of a few nats; what larger
  /// keys add grows with the largest start.
  float unsure_ = 0;
};

void check_weights(const ClassIndex& classes, const LossWeights& weights) {
  if (std::cmp_not_equal(weights.losses.size(), classes.sample_count())) {
    throw InvalidArgument(formatted("draw_weighted: {} losses for {} samples",
                                    weights.losses.size(), classes.sample_count()));
  }
  if (!(weights.beta >= 1e-3 && weights.beta <= 1e3)) {
    throw InvalidArgument(
        formatted("beta is {}; it must lie between 0.001 and 1000", weights.beta));
  }
}

}  // namespace

SampleSet draw_weighted(const ClassIndex& classes, const LossWeights& weights,
                        std::span<const std::int64_t> counts, const RandomStream& stream,
                        const Workers& workers, DrawScratch* scratch) {
  check_weights(classes, weights);
  check_counts("draw_weighted", classes.class_sizes(), counts);
  DrawScratch own;
  DrawScratch& used = scratch != nullptr ? *scratch : own;
  return classes.visit([&](auto labels) {
    const LabelGroups groups{labels.data()};
    RaceRanker ranker(classes, groups, weights, stream,
                      bin_bits_for(classes.sample_count(), counts.size()));
    ranker.aim_at(counts, used.last_keys);
    return draw_best(groups, ranker, classes.sample_count(), counts, workers, used);
  });
}

SampleSet draw_per_class(const ClassIndex& classes, std::span<const std::int64_t> counts,
                         const RandomStream& stream, const Workers& workers) {
  check_counts("draw_per_class", classes.class_sizes(), counts);
  return classes.visit([&](auto labels) {
    return draw_equally(LabelGroups{labels.data()}, stream, classes.sample_count(), counts,
                        workers);
  });
}

SampleSet draw_uniform(std::int64_t sample_count, std::int64_t count, const RandomStream& stream,
                       const Workers& workers) {
  const std::array counts{count};
  check_counts("draw_uniform", std::array{sample_count}, counts);
  return draw_equally(OneGroup{}, stream, sample_count, counts, workers);
}

SampleSet draw_from(const SampleSet& members, std::int64_t count, const RandomStream& stream,
                    const Workers& workers) {
  check_counts("draw_from", std::array{members.count()}, std::array{count});
  const std::array<std::int64_t, 2> counts{count, 0};
  return draw_equally(MemberGroups{&members}, stream, members.sample_count(), counts, workers);
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
