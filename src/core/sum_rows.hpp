#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "core/bytes.hpp"
#include "core/chunks.hpp"
#include "rcap/core/shard.hpp"
#include "rcap/core/workers.hpp"

namespace rcap {

/// Note [Sums over shards]
///
/// A sum of floating-point numbers depends on the order of the additions. So it is made in pieces
/// of the whole data set, each from its beginning to its end, and the pieces are added in their
/// order: threads and ranks only decide who works on which piece.
///
/// A piece may lie on several ranks. Then the first of them begins it and passes on what it has got
/// so far, and the next goes on from there. Pieces are passed on side by side, so there are as many
/// rounds as ranks that share one piece, less one; with no more ranks than pieces that is mostly
/// one. In the end every rank gets the sums of all pieces.

/// Where the pieces of this rank lie, and when it passes on an unfinished one.
struct PieceRelay {
  /// @param pieces  of all that is added up, wherever it is
  /// @param begins  where the part of each rank begins, and behind the last the end
  PieceRelay(const Chunks& pieces, std::span<const std::int64_t> begins, int rank);

  static constexpr int Never = -1;

  std::int64_t first_piece = 0;  ///< of those of which something is here
  std::int64_t last_piece = 0;   ///< behind them
  int comes_in = Never;          ///< the round in which the beginning of the first piece comes
  int goes_in = Never;           ///< the round in which the last piece, unfinished, goes on
  int next = 0;                  ///< to this rank
  int previous = 0;              ///< where the beginning comes from
  int rounds = 0;                ///< of all ranks
};

/// Adds up rows of `width` sums in their order: the result does not depend on who made them.
template <class Sum>
void add_rows(std::vector<Sum>& rows, std::size_t width) {
  for (std::size_t row = width; row < rows.size(); row += width) {
    for (std::size_t j = 0; j < width; ++j) rows[j] += rows[row + j];
  }
  rows.resize(width);
}

/// Rows of `width` sums, one for each piece, added up (Note [Sums over shards]).
/// @param begins  as above; of a whole data set nothing is read
/// @param add     add(begin, end, row) adds the terms from begin to below end to a row, in order;
///                called for what is here, for several pieces at a time
template <class Sum, class Add>
std::vector<Sum> sum_rows(const Shard& shard, const Chunks& pieces,
                          std::span<const std::int64_t> begins, std::size_t width,
                          const Workers& workers, const Add& add) {
  if (shard.is_whole()) {
    const auto row_count = static_cast<std::size_t>(std::max<std::int64_t>(pieces.size(), 1));
    std::vector<Sum> rows(row_count * width);
    workers.for_each_chunk(pieces.size(), [&](std::int64_t piece, int) {
      add(pieces.begin(piece), pieces.end(piece),
          rows.data() + static_cast<std::size_t>(piece) * width);
    });
    add_rows(rows, width);
    return rows;
  }
  if constexpr (std::is_integral_v<Sum>) {  // in any order
    std::vector<Sum> row(width);
    add(begins[static_cast<std::size_t>(shard.rank())],
        begins[static_cast<std::size_t>(shard.rank()) + 1], row.data());
    shard.add_up(row);
    return row;
  }
  const auto rank = static_cast<std::size_t>(shard.rank());
  const PieceRelay relay(pieces, begins, shard.rank());
  std::vector<Sum> rows(static_cast<std::size_t>(relay.last_piece - relay.first_piece) * width);
  const auto add_piece = [&](std::int64_t place) {
    const std::int64_t piece = relay.first_piece + place;
    add(std::max(pieces.begin(piece), begins[rank]), std::min(pieces.end(piece), begins[rank + 1]),
        rows.data() + static_cast<std::size_t>(place) * width);
  };
  workers.for_each_chunk(relay.last_piece - relay.first_piece, [&](std::int64_t place, int) {
    if (place > 0 || relay.comes_in == PieceRelay::Never) add_piece(place);
  });
  for (int round = 0; round < relay.rounds; ++round) {
    std::vector<RankBytes> parts(static_cast<std::size_t>(shard.rank_count()));
    if (relay.goes_in == round) {
      append<Sum>(parts[static_cast<std::size_t>(relay.next)], std::span(rows).last(width));
    }
    const std::vector<RankBytes> received = shard.exchange().all_to_all(std::move(parts));
    if (relay.comes_in != round) continue;
    const auto row = values_of<Sum>(received[static_cast<std::size_t>(relay.previous)]);
    std::ranges::copy(row, rows.begin());
    add_piece(0);
  }
  if (relay.goes_in != PieceRelay::Never) rows.resize(rows.size() - width);
  rows = gather_values<Sum>(shard.exchange(), rows);
  rows.resize(std::max(rows.size(), width));
  add_rows(rows, width);
  return rows;
}

}  // namespace rcap
