#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "rcap/core/exchange.hpp"

namespace rcap {

/// Ranks as threads of one process that take turns: one works while the others wait in an exchange.
/// So what many processes do can be watched in one, and each has the memory for itself.
///
/// An exchange ends with the rank that came last, which goes on at once; the others follow back the
/// way. A rank that fails, or does not exchange what the others do, makes all of them fail.
class RanksInTurn {
 public:
  explicit RanksInTurn(int rank_count);
  ~RanksInTurn();
  RanksInTurn(const RanksInTurn&) = delete;
  RanksInTurn& operator=(const RanksInTurn&) = delete;

  /// Called with a rank when it begins to wait, in its thread, with no other at work.
  std::function<void(int)> on_wait = [](int) {};
  /// What is exchanged, as the numbers of `all_reduce` once, of `all_gather` and `all_to_all` the
  /// bytes of all ranks.
  [[nodiscard]] std::int64_t bytes_exchanged() const noexcept;

  /// Calls `work` for every rank.
  /// @throws  what a rank threw
  void run(const std::function<void(Exchange&)>& work);

 private:
  class Meeting;
  std::unique_ptr<Meeting> meeting_;
};

}  // namespace rcap
