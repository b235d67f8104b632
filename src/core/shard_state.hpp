#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "rcap/core/shard.hpp"
#include "rcap/core/state_file.hpp"

namespace rcap {

/// The state file of one process, written and read by the ranks that have the data set in shards.
/// All ranks call these functions. What belongs to samples goes from every rank to rank 0, or every
/// rank reads its part; all other fields are the same on all ranks.

/// The places of `count` things, spread evenly, that come before this rank. What belongs to
/// selected samples lies like this before the first selection.
[[nodiscard]] std::int64_t even_place(std::int64_t count, int rank_count, int rank);

/// As `write_state_file`; rank 0 writes.
void write_shards_to_file(const Shard& shard, const std::filesystem::path& path,
                          const StateIdentity& identity, const ListFields& list_fields);
/// As `stream_state`; rank 0 gets the bytes.
void stream_shards(const Shard& shard, const WriteBytes& write, const StateIdentity& identity,
                   const ListFields& list_fields);
/// As `read_state_file`; if one rank fails, no field of any changes.
void read_shard_from_file(const Shard& shard, const std::filesystem::path& path,
                          const StateIdentity& identity, const ListFields& list_fields);
/// As `decode_state`; every rank has all bytes.
void decode_shard(const Shard& shard, std::span<const std::byte> bytes,
                  const StateIdentity& identity, const ListFields& list_fields);

}  // namespace rcap
