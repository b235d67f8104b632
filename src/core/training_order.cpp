#include "rcap/core/training_order.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "rcap/core/pruner.hpp"
#include "rcap/core/random_stream.hpp"

namespace rcap {
namespace {

/// Sorts samples by the random bits of their place in a stream: first into buckets of a
/// few by their upper bits, then inside each bucket. Random bits fill buckets evenly, so
/// no bucket is ever large.
class BucketSort {
 public:
  BucketSort(std::span<const SampleId> ids, const RandomStream& stream)
      : stream_(stream), bucket_bits_(static_cast<int>(std::bit_width(ids.size() / 2))) {
    next_.resize((std::size_t{1} << bucket_bits_) + 1);
    for (const SampleId id : ids) ++next_[bucket_of(stream_.bits(id)) + 1];
    for (std::size_t b = 1; b < next_.size(); ++b) next_[b] += next_[b - 1];
  }

  /// Where the next sample of this bucket goes. Called for all ids in turn.
  std::size_t place(SampleId id) { return next_[bucket_of(stream_.bits(id))]++; }

  /// Sorts the placed samples inside their buckets; `swap_places(i, j)` moves what
  /// belongs to them.
  template <class SwapPlaces>
  void finish(std::span<SampleId> ids, const SwapPlaces& swap_places) const {
    std::size_t begin = 0;
    for (std::size_t b = 0; b + 1 < next_.size(); ++b) {
      for (std::size_t i = begin + 1; i < next_[b]; ++i) {
        const std::uint64_t bits = stream_.bits(ids[i]);
        for (std::size_t j = i; j > begin && bits < stream_.bits(ids[j - 1]); --j) {
          std::swap(ids[j], ids[j - 1]);
          swap_places(j, j - 1);
        }
      }
      begin = next_[b];
    }
  }

 private:
  [[nodiscard]] std::size_t bucket_of(std::uint64_t bits) const {
    return static_cast<std::size_t>((bits >> 1) >> (63 - bucket_bits_));
  }

  RandomStream stream_;
  int bucket_bits_;
  std::vector<std::uint32_t> next_;  ///< per bucket, from which place on it is free
};

}  // namespace

std::vector<SampleId> training_order(std::span<const SampleId> ids, std::uint64_t seed,
                                     std::int64_t epoch) {
  BucketSort sort(ids, RandomStream(seed, Purpose::Order, epoch));
  std::vector<SampleId> ordered(ids.size());
  for (const SampleId id : ids) ordered[sort.place(id)] = id;
  sort.finish(ordered, [](std::size_t, std::size_t) {});
  return ordered;
}

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
  sort.finish(ordered.ids, [&](std::size_t i, std::size_t j) {
    if (weighted) std::swap(ordered.weights[i], ordered.weights[j]);
  });
}

Selection in_training_order(const Selection& selection, std::uint64_t seed) {
  Selection ordered;
  put_in_training_order(selection, seed, ordered);
  return ordered;
}

}  // namespace rcap
