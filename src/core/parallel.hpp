#pragma once

#include <cstdint>
#include <functional>

namespace rcap {

/// Calls `work(chunk, worker)` for every chunk of [0, chunk_count), on up to `threads`
/// threads that fetch the next chunk when they are free; `worker` is in [0, threads).
/// Which worker gets which chunk is open: results must not depend on it.
///
/// The first exception is rethrown here after all threads have ended.
void for_each_chunk(std::int64_t chunk_count, int threads,
                    const std::function<void(std::int64_t chunk, int worker)>& work);

/// How many workers `for_each_chunk` really uses: never more than there are chunks.
[[nodiscard]] int worker_count(std::int64_t chunk_count, int threads);

/// Contiguous pieces of [0, count), each but the last of `length`: the unit of work of
/// a pass over the data. The pieces depend on the data only, never on the threads, so
/// sums made piece by piece are the same for any number of them.
struct Chunks {
  std::int64_t count;
  std::int64_t length;

  [[nodiscard]] std::int64_t size() const { return (count + length - 1) / length; }
  [[nodiscard]] std::int64_t begin(std::int64_t chunk) const { return chunk * length; }
  [[nodiscard]] std::int64_t end(std::int64_t chunk) const {
    return chunk + 1 < size() ? (chunk + 1) * length : count;
  }
};

}  // namespace rcap
