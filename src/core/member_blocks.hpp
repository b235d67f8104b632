#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/chunks.hpp"
#include "core/set_bits.hpp"
#include "core/sum_rows.hpp"
#include "rcap/core/class_index.hpp"
#include "rcap/core/sample_set.hpp"

namespace rcap {

/// Pieces of `count` things for sums per class: enough to keep threads busy, few enough that a row
/// of sums for each of them is small beside the data.
inline Chunks chunks_for_sums(std::int64_t count, std::int64_t sample_count,
                              std::int64_t class_count) {
  const std::int64_t pieces = std::clamp<std::int64_t>(sample_count / 16 / class_count, 1, 32);
  return {count, std::max<std::int64_t>((count + pieces - 1) / pieces, 1)};
}

/// Some members of a set that lie near each other.
struct MemberBlock {
  std::size_t first_id;   ///< what `places` count from
  std::size_t first;      ///< how many members of the set come before
  const SetBits& places;  ///< ascending
};

/// Calls `f` with the members in these words of a set, in blocks of at most `BlockSamples`.
/// @param before  how many members lie in the words before
template <class F>
void for_each_member_block(const SampleSet& samples, std::size_t first_word, std::size_t end_word,
                           std::size_t before, const F& f) {
  static_assert(64 * SetBits::MostWords == BlockSamples);
  for (std::size_t word = first_word; word < end_word;) {
    const std::size_t count = std::min(SetBits::MostWords, end_word - word);
    const SetBits places(samples.words().subspan(word, count));
    f(MemberBlock{64 * word, before, places});
    before += static_cast<std::size_t>(places.end() - places.begin());
    word += count;
  }
}

/// Sums over the members of each class, to which `add(block, labels, sums)` adds those of a block.
/// Of shards, the sums are those over all of them.
template <class Sum, class Add>
std::vector<Sum> sum_blocks_by_class(const ClassIndex& classes, const SampleSet& samples,
                                     const Workers& workers, const Add& add) {
  const Shard& shard = classes.shard();
  const auto words_of = [](std::int64_t ids) { return (ids + 63) / 64; };
  const Chunks pieces =
      chunks_for_sums(words_of(shard.total()), shard.sum(samples.count()), classes.class_count());
  std::vector<std::int64_t> begins;
  for (const SampleId first_id : shard.begins()) begins.push_back(words_of(first_id));
  const std::int64_t first_word = words_of(shard.first_id());
  // How many members lie before each piece of which something is here.
  const auto end_word = first_word + static_cast<std::int64_t>(samples.words().size());
  const std::int64_t first_piece = first_word / pieces.length;
  std::vector<std::size_t> before{0};
  for (std::int64_t begin = first_word; begin < end_word;) {
    const std::int64_t end = std::min(end_word, (begin / pieces.length + 1) * pieces.length);
    before.push_back(before.back() + static_cast<std::size_t>(count_bits(samples.words().subspan(
                                         static_cast<std::size_t>(begin - first_word),
                                         static_cast<std::size_t>(end - begin)))));
    begin = end;
  }
  return classes.visit([&](auto labels) {
    return sum_rows<Sum>(
        shard, pieces, begins, static_cast<std::size_t>(classes.class_count()), workers,
        [&](std::int64_t begin, std::int64_t end, Sum* sums) {
          for_each_member_block(
              samples, static_cast<std::size_t>(begin - first_word),
              static_cast<std::size_t>(end - first_word),
              before[static_cast<std::size_t>(begin / pieces.length - first_piece)],
              [&](const MemberBlock& block) { add(block, labels, sums); });
        });
  });
}

/// Adds `term(place)` of each id to the sum of its class. Of shards, the ids are one list.
template <class Sum, class Term>
std::vector<Sum> sum_ids_by_class(const ClassIndex& classes, std::span<const SampleId> ids,
                                  const Workers& workers, const Term& term) {
  const Shard& shard = classes.shard();
  const std::vector<std::int64_t> begins = shard.begins_of(std::ssize(ids));
  const std::int64_t first = begins[static_cast<std::size_t>(shard.rank())];
  const Chunks pieces = chunks_for_sums(begins.back(), begins.back(), classes.class_count());
  return classes.visit([&](auto labels) {
    return sum_rows<Sum>(shard, pieces, begins, static_cast<std::size_t>(classes.class_count()),
                         workers, [&](std::int64_t begin, std::int64_t end, Sum* sums) {
                           const auto last = static_cast<std::size_t>(end - first);
                           for (auto i = static_cast<std::size_t>(begin - first); i < last; ++i) {
                             sums[labels[static_cast<std::size_t>(ids[i])]] += term(i);
                           }
                         });
  });
}

/// Adds `term(id, class, place among the members)` of every member to the sum of its class.
template <class Sum = double, class Term>
std::vector<Sum> sum_by_class(const ClassIndex& classes, const SampleSet& samples,
                              const Workers& workers, const Term& term) {
  return sum_blocks_by_class<Sum>(
      classes, samples, workers, [&](const MemberBlock& block, auto labels, Sum* sums) {
        std::size_t place = block.first;
        for (const std::uint16_t offset : block.places) {
          const std::size_t id = block.first_id + offset;
          const auto label = static_cast<std::size_t>(labels[id]);
          sums[label] += term(static_cast<SampleId>(id), label, place++);
        }
      });
}

}  // namespace rcap
