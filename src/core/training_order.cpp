#include "rcap/core/training_order.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "core/chunks.hpp"
#include "core/vector_clones.hpp"
#include "rcap/core/pruner.hpp"
#include "rcap/core/random_stream.hpp"

namespace rcap {
namespace {

RCAP_VECTOR_CLONES
void bits_of(RandomStream stream, const SampleId* ids, std::size_t count, std::uint64_t* bits) {
  for (std::size_t i = 0; i < count; ++i) bits[i] = stream.bits(ids[i]);
}

RCAP_VECTOR_CLONES
void ids_of(RandomStream stream, const std::uint64_t* bits, std::size_t count, SampleId* ids) {
  for (std::size_t i = 0; i < count; ++i) ids[i] = stream.id_of(bits[i]);
}

/// Sorts samples by their random bits: first into buckets that fit into a core's own cache,
/// by the upper bits, then inside each bucket by the next ones. Random bits fill buckets
/// and slots evenly, so none is ever large.
///
/// Only the bits are moved, since they tell which sample they belong to. Between the two steps they
/// are kept where the ids will be.
class BucketSort {
 public:
  /// @param ids      the samples
  /// @param weights  theirs, or none
  BucketSort(std::span<const SampleId> ids, std::span<const float> weights,
             const RandomStream& stream)
      : ids_(ids),
        weights_(weights),
        stream_(stream),
        bucket_bits_(
            std::min(static_cast<int>(std::bit_width(ids.size() / BucketSamples)), MostBucketBits)),
        next_((std::size_t{1} << bucket_bits_) + 1) {}

  /// @param ids, weights  the same in order; may not be those that are sorted
  void sort_into(std::span<SampleId> ids, std::span<float> weights) {
    fill_buckets(ids, weights);
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

  /// The first `count` of these bits, behind the first `skipped`, as a number.
  static std::size_t cut(std::uint64_t bits, int skipped, int count) {
    return static_cast<std::size_t>((bits << skipped >> 1) >> (63 - count));
  }
  [[nodiscard]] std::size_t bucket_of(std::uint64_t bits) const {
    return cut(bits, 0, bucket_bits_);
  }

  /// Calls `f(place, bits)` for the samples in turn.
  template <class F>
  void for_each(const F& f) const {
    std::uint64_t bits[BlockSamples];
    for (std::size_t first = 0; first < ids_.size(); first += BlockSamples) {
      const std::size_t count = std::min(BlockSamples, ids_.size() - first);
      bits_of(stream_, ids_.data() + first, count, bits);
      for (std::size_t i = 0; i < count; ++i) f(first + i, bits[i]);
    }
  }

  void fill_buckets(std::span<SampleId> placed, std::span<float> placed_weights) {
    for_each([&](std::size_t, std::uint64_t bits) { ++next_[bucket_of(bits) + 1]; });
    std::partial_sum(next_.begin(), next_.end(), next_.begin());
    if (weights_.empty()) {
      for_each([&](std::size_t, std::uint64_t bits) {
        placed[next_[bucket_of(bits)]++] = static_cast<SampleId>(bits);
      });
    } else {
      for_each([&](std::size_t i, std::uint64_t bits) {
        const std::size_t place = next_[bucket_of(bits)]++;
        placed[place] = static_cast<SampleId>(bits);
        placed_weights[place] = weights_[i];
      });
    }
  }

  /// Turns the bits of one bucket into the ids in order.
  void sort_bucket(std::span<SampleId> bucket, std::span<float> weights) {
    // Two to four slots a sample.
    const auto slot_bits = static_cast<int>(std::bit_width(bucket.size())) + 1;
    const auto slot_of = [&](SampleId bits) {
      return cut(static_cast<std::uint64_t>(bits), bucket_bits_, slot_bits);
    };
    slots_.assign((std::size_t{1} << slot_bits) + 1, 0);
    for (const SampleId bits : bucket) ++slots_[slot_of(bits) + 1];
    std::partial_sum(slots_.begin(), slots_.end(), slots_.begin());
    bits_.resize(bucket.size());
    bucket_weights_.resize(weights.size());
    for (std::size_t i = 0; i < bucket.size(); ++i) {
      const std::size_t place = slots_[slot_of(bucket[i])]++;
      bits_[place] = static_cast<std::uint64_t>(bucket[i]);
      if (!weights.empty()) bucket_weights_[place] = weights[i];
    }
    mend_slots();
    ids_of(stream_, bits_.data(), bits_.size(), bucket.data());
    std::ranges::copy(bucket_weights_, weights.begin());
  }

  /// Every sample is in its slot, mostly alone: few have to move, and not far.
  void mend_slots() {
    const bool weighted = !bucket_weights_.empty();
    for (std::size_t i = 1; i < bits_.size(); ++i) {
      if (bits_[i - 1] < bits_[i]) continue;
      const std::uint64_t bits = bits_[i];
      const float weight = weighted ? bucket_weights_[i] : 0;
      std::size_t to = i;
      for (; to > 0 && bits < bits_[to - 1]; --to) {
        bits_[to] = bits_[to - 1];
        if (weighted) bucket_weights_[to] = bucket_weights_[to - 1];
      }
      bits_[to] = bits;
      if (weighted) bucket_weights_[to] = weight;
    }
  }

  std::span<const SampleId> ids_;
  std::span<const float> weights_;
  RandomStream stream_;
  int bucket_bits_;
  std::vector<std::uint32_t> next_;  ///< per bucket, from which place on it is free
  // Of one bucket at a time:
  std::vector<std::uint32_t> slots_;  ///< per slot, from which place on it is free
  std::vector<std::uint64_t> bits_;
  std::vector<float> bucket_weights_;
};

}  // namespace

void put_in_training_order(const Selection& selection, std::uint64_t seed, Selection& ordered) {
  ordered.epoch = selection.epoch;
  ordered.refresh_ids = selection.refresh_ids;
  ordered.rate_factor = selection.rate_factor;
  ordered.ids.resize(selection.ids.size());
  ordered.weights.resize(selection.weights.size());
  BucketSort(selection.ids, selection.weights, RandomStream(seed, Purpose::Order, selection.epoch))
      .sort_into(ordered.ids, ordered.weights);
}

std::vector<SampleId> training_order(std::span<const SampleId> ids, std::uint64_t seed,
                                     std::int64_t epoch) {
  std::vector<SampleId> ordered(ids.size());
  BucketSort(ids, {}, RandomStream(seed, Purpose::Order, epoch)).sort_into(ordered, {});
  return ordered;
}

Selection in_training_order(const Selection& selection, std::uint64_t seed) {
  Selection ordered;
  put_in_training_order(selection, seed, ordered);
  return ordered;
}

}  // namespace rcap
