#include "core/order_over_shards.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <numeric>
#include <utility>

#include "core/bytes.hpp"
#include "core/id_runs.hpp"
#include "rcap/core/training_order.hpp"

namespace rcap {
namespace {

__extension__ using Wide = unsigned __int128;

std::size_t ranks_of(const Shard& shard) { return static_cast<std::size_t>(shard.rank_count()); }

/// Samples on their way to each rank.
class Parcels {
 public:
  Parcels(const Shard& shard, bool with_weights)
      : shard_(shard),
        with_weights_(with_weights),
        runs_(ranks_of(shard)),
        weights_(runs_.size()) {}

  /// @param id  counted from the shard's first, more than the last for this rank
  void add(std::size_t rank, SampleId id) { runs_[rank].add(id); }
  void add(std::size_t rank, SampleId id, float weight) {
    runs_[rank].add(id);
    weights_[rank].push_back(weight);
  }

  [[nodiscard]] std::vector<RankBytes> send() {
    std::vector<RankBytes> parts(runs_.size());
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
      runs_[rank].append_to(parts[rank]);
      append<float>(parts[rank], weights_[rank]);
      runs_[rank] = {};
      weights_[rank] = {};
    }
    return shard_.exchange().all_to_all(std::move(parts));
  }

  /// Sends the samples; appends those that come, with ids of the whole data set.
  void exchange(Selection& selection) {
    std::vector<RankBytes> received = send();
    for (std::size_t rank = 0; rank < received.size(); ++rank) {
      std::span<const std::byte> bytes = received[rank];
      read_ids(bytes, shard_.begins()[rank], selection.ids);
      if (with_weights_) {
        const std::vector<float> weights = values_of<float>(bytes);
        selection.weights.insert(selection.weights.end(), weights.begin(), weights.end());
      }
      received[rank] = {};
    }
  }

 private:
  const Shard& shard_;
  bool with_weights_;
  std::vector<IdRun> runs_;
  std::vector<std::vector<float>> weights_;
};

/// Random bits that one rank looks after, and how many of them are below any.
class BitRanks {
 public:
  /// @param keepers  how many ranks share all bits
  BitRanks(const std::vector<std::uint64_t>& bits, std::size_t keepers)
      : keepers_(keepers), bits_(bits.size()) {
    // About four to a bucket.
    bucket_bits_ = std::clamp(static_cast<int>(std::bit_width(bits.size())) - 3, 0, 30);
    begins_.resize((std::size_t{1} << bucket_bits_) + 1);
    for (const std::uint64_t one : bits) ++begins_[bucket_of(one) + 1];
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
    std::vector<std::uint32_t> next(begins_.begin(), begins_.end() - 1);
    for (const std::uint64_t one : bits) bits_[next[bucket_of(one)]++] = one;
  }

  [[nodiscard]] std::int64_t rank_of(std::uint64_t bits) const {
    const std::size_t bucket = bucket_of(bits);
    std::int64_t rank = begins_[bucket];
    for (std::size_t i = begins_[bucket]; i < begins_[bucket + 1]; ++i) rank += bits_[i] < bits;
    return rank;
  }

  /// Who looks after these bits.
  static std::size_t keeper_of(std::uint64_t bits, std::size_t keepers) {
    return static_cast<std::size_t>((Wide{bits} * keepers) >> 64);
  }

 private:
  /// The keeper's part of all bits, in equal pieces.
  [[nodiscard]] std::size_t bucket_of(std::uint64_t bits) const {
    const auto place = static_cast<std::uint64_t>(Wide{bits} * keepers_);  // in the part, over 2^64
    return static_cast<std::size_t>((place >> 1) >> (63 - bucket_bits_));
  }

  std::size_t keepers_;
  int bucket_bits_ = 0;
  std::vector<std::uint64_t> bits_;    ///< bucket by bucket
  std::vector<std::uint32_t> begins_;  ///< of the buckets
};

template <class Rank>
std::vector<RankBytes> answer(const Shard& shard, const RandomStream& stream, std::int64_t before,
                              const BitRanks& ranks, std::span<const std::vector<SampleId>> asked) {
  std::vector<RankBytes> answers(asked.size());
  for (std::size_t from = 0; from < asked.size(); ++from) {
    std::vector<Rank> targets;
    targets.reserve(asked[from].size());
    for (const SampleId id : asked[from]) {
      targets.push_back(
          static_cast<Rank>((before + ranks.rank_of(stream.bits(id))) % shard.rank_count()));
    }
    append<Rank>(answers[from], targets);
  }
  return shard.exchange().all_to_all(std::move(answers));
}

/// Steps 1 and 2 of Note [The order over shards].
/// @return for each rank, where the samples go whose bits it looks after, in ascending order
template <class Rank>
std::vector<std::vector<Rank>> find_targets(const Shard& shard, std::span<const SampleId> ids,
                                            const RandomStream& stream) {
  const std::size_t keepers = ranks_of(shard);
  std::vector<std::vector<SampleId>> asked(keepers);
  {
    Parcels parcels(shard, false);
    const RandomStream own = stream.from_id(shard.first_id());
    for (const SampleId id : ids) parcels.add(BitRanks::keeper_of(own.bits(id), keepers), id);
    const std::vector<RankBytes> received = parcels.send();
    for (std::size_t from = 0; from < keepers; ++from) {
      std::span<const std::byte> bytes = received[from];
      read_ids(bytes, shard.begins()[from], asked[from]);
    }
  }
  std::vector<std::uint64_t> bits;
  for (const auto& from_rank : asked) {
    for (const SampleId id : from_rank) bits.push_back(stream.bits(id));
  }
  const std::int64_t before =
      shard.begins_of(std::ssize(bits))[static_cast<std::size_t>(shard.rank())];
  const BitRanks ranks(bits, keepers);
  std::vector<std::vector<Rank>> targets;
  for (const RankBytes& bytes : answer<Rank>(shard, stream, before, ranks, asked)) {
    targets.push_back(values_of<Rank>(bytes));
  }
  return targets;
}

template <class Rank>
void send_to_targets(const Shard& shard, const Selection& selection, bool with_weights,
                     const RandomStream& stream, Selection& part) {
  const auto targets = find_targets<Rank>(shard, selection.ids, stream);
  const RandomStream own = stream.from_id(shard.first_id());
  std::vector<std::size_t> next(targets.size());
  Parcels parcels(shard, with_weights);
  for (std::size_t i = 0; i < selection.ids.size(); ++i) {
    const SampleId id = selection.ids[i];
    const std::size_t keeper = BitRanks::keeper_of(own.bits(id), targets.size());
    const std::size_t target = targets[keeper][next[keeper]++];
    if (with_weights) {
      parcels.add(target, id, selection.weights[i]);
    } else {
      parcels.add(target, id);
    }
  }
  parcels.exchange(part);
}

/// What a part has beside its samples.
Selection begin_part(const Selection& selection) {
  Selection part;
  part.epoch = selection.epoch;
  part.rate_factor = selection.rate_factor;
  return part;
}

/// Some places of a list that go to another rank.
struct Move {
  std::size_t from, to;
  std::int64_t count;
};

/// What evens out these counts: equal, except that the first ranks may have one more.
std::vector<Move> even_out(std::span<const std::int64_t> counts) {
  const auto ranks = std::ssize(counts);
  const std::int64_t all = std::reduce(counts.begin(), counts.end());
  std::vector<std::int64_t> surplus(counts.begin(), counts.end());
  for (std::int64_t r = 0; r < ranks; ++r) {
    surplus[static_cast<std::size_t>(r)] -= all / ranks + (r < all % ranks ? 1 : 0);
  }
  std::vector<Move> moves;
  std::size_t to = 0;
  for (std::size_t from = 0; from < surplus.size(); ++from) {
    while (surplus[from] > 0) {
      while (surplus[to] >= 0) ++to;
      const std::int64_t count = std::min(surplus[from], -surplus[to]);
      moves.push_back({from, to, count});
      surplus[from] -= count;
      surplus[to] += count;
    }
  }
  return moves;
}

}  // namespace

Selection part_of_order(const Shard& shard, const Selection& selection, std::uint64_t seed) {
  if (shard.is_whole()) return in_training_order(selection, seed);
  const bool with_weights = shard.any(!selection.weights.empty());
  const RandomStream stream(seed, Purpose::Order, selection.epoch);
  Selection part = begin_part(selection);
  if (shard.rank_count() <= 256) {
    send_to_targets<std::uint8_t>(shard, selection, with_weights, stream, part);
  } else {
    send_to_targets<std::uint32_t>(shard, selection, with_weights, stream, part);
  }
  return in_training_order(part, seed);
}

Selection part_that_stays(const Shard& shard, const Selection& selection, std::uint64_t seed) {
  if (shard.is_whole()) return in_training_order(selection, seed);
  const bool with_weights = shard.any(!selection.weights.empty());
  Selection global = begin_part(selection);
  global.weights = selection.weights;
  for (const SampleId id : selection.ids) global.ids.push_back(shard.first_id() + id);
  Selection part = in_training_order(global, seed);

  const std::vector<std::int64_t> begins = shard.begins_of(std::ssize(part.ids));
  std::vector<std::int64_t> counts(ranks_of(shard));
  for (std::size_t r = 0; r < counts.size(); ++r) counts[r] = begins[r + 1] - begins[r];
  Parcels parcels(shard, with_weights);
  std::size_t left = part.ids.size();
  for (const Move& move : even_out(counts)) {
    if (std::cmp_not_equal(move.from, shard.rank())) continue;
    const std::size_t first = left - static_cast<std::size_t>(move.count);
    std::vector<std::size_t> places(left - first);
    std::iota(places.begin(), places.end(), first);
    std::ranges::sort(places, {}, [&](std::size_t place) { return part.ids[place]; });
    for (const std::size_t place : places) {
      const SampleId id = part.ids[place] - shard.first_id();
      if (with_weights) {
        parcels.add(move.to, id, part.weights[place]);
      } else {
        parcels.add(move.to, id);
      }
    }
    left = first;
  }
  part.ids.resize(left);
  if (with_weights) part.weights.resize(left);
  parcels.exchange(part);
  return in_training_order(part, seed);
}

}  // namespace rcap
