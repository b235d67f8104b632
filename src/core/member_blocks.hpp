#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/chunks.hpp"
#include "core/set_bits.hpp"
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
  std::int64_t chunk;     ///< the piece of the data that it belongs to
  std::size_t first_id;   ///< what `places` count from
  std::size_t first;      ///< how many members of the set come before
  const SetBits& places;  ///< ascending
};

/// Calls `f` with all members of a set, in blocks of at most `BlockSamples`. Blocks of one chunk
/// come one after another; chunks side by side.
/// @param words  pieces of the words of the set
template <class F>
void for_each_member_block(const SampleSet& samples, const Chunks& words, const Workers& workers,
                           const F& f) {
  static_assert(64 * SetBits::MostWords == BlockSamples);
  std::vector<std::size_t> before(static_cast<std::size_t>(words.size()) + 1);
  for (std::int64_t chunk = 0; chunk < words.size(); ++chunk) {
    const auto of_chunk =
        samples.words().subspan(static_cast<std::size_t>(words.begin(chunk)),
                                static_cast<std::size_t>(words.end(chunk) - words.begin(chunk)));
    before[static_cast<std::size_t>(chunk) + 1] =
        before[static_cast<std::size_t>(chunk)] + static_cast<std::size_t>(count_bits(of_chunk));
  }
  workers.for_each_chunk(words.size(), [&](std::int64_t chunk, int) {
    std::size_t first = before[static_cast<std::size_t>(chunk)];
    auto word = static_cast<std::size_t>(words.begin(chunk));
    const auto end = static_cast<std::size_t>(words.end(chunk));
    while (word < end) {
      const std::size_t count = std::min(SetBits::MostWords, end - word);
      const SetBits places(samples.words().subspan(word, count));
      f(MemberBlock{chunk, 64 * word, first, places});
      first += static_cast<std::size_t>(places.end() - places.begin());
      word += count;
    }
  });
}

/// Adds up rows of `class_count` sums, one row for each piece of the data, in their order: the
/// result does not depend on the threads.
template <class Sum>
void add_rows(std::vector<Sum>& rows, std::size_t class_count) {
  for (std::size_t row = class_count; row < rows.size(); row += class_count) {
    for (std::size_t j = 0; j < class_count; ++j) rows[j] += rows[row + j];
  }
  rows.resize(class_count);
}

/// Sums over the members of each class, to which `add(block, labels, sums)` adds those of a block.
template <class Sum, class Add>
std::vector<Sum> sum_blocks_by_class(const ClassIndex& classes, const SampleSet& samples,
                                     const Workers& workers, const Add& add) {
  const auto word_count = static_cast<std::int64_t>(samples.words().size());
  const Chunks words = chunks_for_sums(word_count, samples.count(), classes.class_count());
  const auto class_count = static_cast<std::size_t>(classes.class_count());
  std::vector<Sum> rows(static_cast<std::size_t>(words.size()) * class_count);
  classes.visit([&](auto labels) {
    for_each_member_block(samples, words, workers, [&](const MemberBlock& block) {
      add(block, labels, rows.data() + static_cast<std::size_t>(block.chunk) * class_count);
    });
  });
  add_rows(rows, class_count);
  return rows;
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
