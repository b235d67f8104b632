#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "rcap/core/export.hpp"

RCAP_API_BEGIN
namespace rcap {

/// Threads that share passes over the data. They start with the first pass, sleep between
/// passes and end with the object. One pass at a time. If the system cannot start more threads,
/// the existing ones do the work.
///
/// A pruner keeps its workers: a new thread may have to wait milliseconds for a
/// processor, as long as a whole selection takes. After a fork the child, which has none of the
/// threads, starts its own. A function that takes workers also accepts a number of threads.
class Workers {
 public:
  /// @param threads  at least 1; the calling thread is one of them
  Workers(int threads);  // NOLINT(google-explicit-constructor): a number will do
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  [[nodiscard]] int count() const noexcept { return count_; }

  /// Calls `work(chunk, worker)` for every chunk of [0, chunk_count); `worker` is in
  /// [0, count()). Workers fetch the next chunk when they are free, so results must not
  /// depend on which worker gets which chunk.
  ///
  /// The first exception is rethrown here, after all workers have stopped.
  void for_each_chunk(std::int64_t chunk_count,
                      const std::function<void(std::int64_t chunk, int worker)>& work) const;

 private:
  class Team;

  int count_;
  mutable std::unique_ptr<Team> team_;  ///< started when there is something to share
  mutable int team_process_ = 0;        ///< the process in which it was started
};

}  // namespace rcap
RCAP_API_END
