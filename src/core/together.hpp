#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string_view>

#include "core/bytes.hpp"
#include "rcap/core/shard.hpp"

namespace rcap {

/// What ranks do together besides adding up (`Shard`).

/// Calls `work` on every rank. If it throws an `Error` on some, all ranks throw that of the first
/// of them: a rank that went on alone would wait for the others forever.
void together(const Shard& shard, const std::function<void()>& work);

/// @throws InvalidArgument  on every rank, unless all have the same value
/// @param what  what a message begins with
void require_same(const Shard& shard, std::string_view what, std::int64_t value);
void require_same(const Shard& shard, std::string_view what, std::string_view value);

/// Lets rank after rank change `value`; each goes on with what the one before left.
/// @return what the last one left, on every rank
///
/// As many exchanges as there are ranks.
template <class T, class Change>
[[nodiscard]] T in_turn(const Shard& shard, T value, const Change& change) {
  for (int rank = 0; rank < shard.rank_count(); ++rank) {
    const bool is_mine = rank == shard.rank();
    if (is_mine) change(value);
    if (shard.is_whole()) return value;
    const std::span<const T> mine(&value, is_mine ? 1 : 0);
    value = gather_values<T>(shard.exchange(), mine).front();
  }
  return value;
}

}  // namespace rcap
