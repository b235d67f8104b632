#include "rcap/core/training_order.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "rcap/core/pruner.hpp"
#include "rcap/core/random_stream.hpp"

namespace rcap {
namespace {

/// Sorts samples by their random bits: first into buckets that fit into a core's own cache,
/// by the upper bits, then inside each bucket by the next ones. Random bits fill buckets
/// and slots evenly, so none is ever large.
class BucketSort {
 public:
  BucketSort(std::span<const SampleId> ids, const RandomStream& stream)
      : stream_(stream),
        bucket_bits_(std::min(static_cast<int>(std::bit_width(ids.size() / BucketSamples)),
                              MostBucketBits)) {
    next_.resize((std::size_t{1} << bucket_bits_) + 1);
    for (const SampleId id : ids) ++next_[bucket_of(stream_.bits(id)) + 1];
    std::partial_sum(next_.begin(), next_.end(), next_.begin());
  }

  /// Where the next sample of this bucket goes. Called for all ids in turn.
  std::size_t place(SampleId id) { return next_[bucket_of(stream_.bits(id))]++; }

  /// Sorts the placed samples inside their buckets, and their weights if there are any.
  void finish(std::span<SampleId> ids, std::span<float> weights) {
    std::size_t begin = 0;
    for (std::size_t bucket = 0; bucket + 1 < next_.size(); ++bucket) {
      const std::size_t count = next_[bucket] - begin;
      sort_bucket(ids.subspan(begin, count),
                  weights.empty() ? weights : weights.subspan(begin, count));
      begin += count;
    }
  }

 private:
  static constexpr std::size_t BucketSamples = 1024;
  static constexpr int MostBucketBits = 16;  // writing to more places than that is slow

  struct Sample {
    std::uint64_t bits;
    SampleId id;
    float weight;
  };

  /// The first `count` of these bits, behind the first `skipped`, as a number.
  static std::size_t cut(std::uint64_t bits, int skipped, int count) {
    return static_cast<std::size_t>((bits << skipped >> 1) >> (63 - count));
  }
  [[nodiscard]] std::size_t bucket_of(std::uint64_t bits) const {
    return cut(bits, 0, bucket_bits_);
  }

  void sort_bucket(std::span<SampleId> ids, std::span<float> weights) {
    // Two to four slots a sample.
    const auto slot_bits = static_cast<int>(std::bit_width(ids.size())) + 1;
    const auto slot_of = [&](std::uint64_t bits) { return cut(bits, bucket_bits_, slot_bits); };
    slots_.assign((std::size_t{1} << slot_bits) + 1, 0);
    bits_.resize(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      bits_[i] = stream_.bits(ids[i]);
      ++slots_[slot_of(bits_[i]) + 1];
    }
    std::partial_sum(slots_.begin(), slots_.end(), slots_.begin());
    samples_.resize(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      samples_[slots_[slot_of(bits_[i])]++] = {bits_[i], ids[i], weights.empty() ? 0 : weights[i]};
    }
    mend_slots();
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = samples_[i].id;
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = samples_[i].weight;
  }

  /// Every sample is in its slot, mostly alone: few have to move, and not far.
  void mend_slots() {
    for (std::size_t i = 1; i < samples_.size(); ++i) {
      const Sample sample = samples_[i];
      std::size_t to = i;
      for (; to > 0 && sample.bits < samples_[to - 1].bits; --to) samples_[to] = samples_[to - 1];
      if (to != i) samples_[to] = sample;
    }
  }

  RandomStream stream_;
  int bucket_bits_;
  std::vector<std::uint32_t> next_;  ///< per bucket, from which place on it is free
  // Of one bucket at a time:
  std::vector<std::uint32_t> slots_;  ///< per slot, from which place on it is free
  std::vector<std::uint64_t> bits_;
  std::vector<Sample> samples_;
};

}  // namespace

void put_in_training_order(const Selection& selection, std::uint64_t seed, Selection& ordered) {
  BucketSort sort(selection.ids, RandomStream(seed, Purpose::Order, selection.epoch));
  ordered.epoch = selection.epoch;
  ordered.ids.resize(selection.ids.size());
  ordered.weights.resize(selection.weights.size());
  const bool weighted = !selection.weights.empty();
  for (std::size_t i = 0; i < selection.ids.size(); ++i) {
    const std::size_t place = sort.place(selection.ids[i]);
    ordered.ids[place] = selection.ids[i];
    if (weighted) ordered.weights[place] = selection.weights[i];
  }
  sort.finish(ordered.ids, ordered.weights);
}

std::vector<SampleId> training_order(std::span<const SampleId> ids, std::uint64_t seed,
                                     std::int64_t epoch) {
  BucketSort sort(ids, RandomStream(seed, Purpose::Order, epoch));
  std::vector<SampleId> ordered(ids.size());
  for (const SampleId id : ids) ordered[sort.place(id)] = id;
  sort.finish(ordered, {});
  return ordered;
}

Selection in_training_order(const Selection& selection, std::uint64_t seed) {
  Selection ordered;
  put_in_training_order(selection, seed, ordered);
  return ordered;
}

}  // namespace rcap
