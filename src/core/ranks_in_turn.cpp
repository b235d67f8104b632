#include "core/ranks_in_turn.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/formatted.hpp"
#include "rcap/core/error.hpp"

namespace rcap {

/// Where ranks wait for each other.
class RanksInTurn::Meeting {
 public:
  explicit Meeting(int rank_count, const std::function<void(int)>& on_wait)
      : ranks_(static_cast<std::size_t>(rank_count)), on_wait_(on_wait) {}

  [[nodiscard]] int rank_count() const { return static_cast<int>(ranks_.size()); }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

  void all_reduce(int rank, std::span<std::int64_t> numbers, Exchange::Combine combine) {
    const bool is_sum = combine == Exchange::Combine::Sum;
    const Slot& slot =
        take_part(rank, is_sum ? "all_reduce sum" : "all_reduce max", [&](Slot& all) {
          if (arrived_ == 0) {
            all.numbers.assign(numbers.begin(), numbers.end());
            bytes_ += static_cast<std::int64_t>(numbers.size_bytes());
            return;
          }
          if (all.numbers.size() != numbers.size()) {
            fail(formatted("rank {} reduces {} numbers, others {}", rank, numbers.size(),
                           all.numbers.size()));
          }
          std::ranges::transform(
              all.numbers, numbers, all.numbers.begin(), [is_sum](auto a, auto b) {
                const auto sum = static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b);
                return is_sum ? static_cast<std::int64_t>(sum) : std::max(a, b);
              });
        });
    std::ranges::copy(slot.numbers, numbers.begin());
  }

  std::vector<RankBytes> all_gather(int rank, std::span<const std::byte> bytes) {
    return take_part(rank, "all_gather",
                     [&](Slot& all) {
                       bytes_ += std::ssize(bytes);
                       all.of_ranks.resize(ranks_.size());
                       all.of_ranks[static_cast<std::size_t>(rank)].assign(bytes.begin(),
                                                                           bytes.end());
                     })
        .of_ranks;
  }

  std::vector<RankBytes> all_to_all(int rank, std::vector<RankBytes> parts) {
    Slot& slot = take_part(rank, "all_to_all", [&](Slot& all) {
      for (const RankBytes& part : parts) bytes_ += std::ssize(part);
      all.parts.resize(ranks_.size());
      all.parts[static_cast<std::size_t>(rank)] = std::move(parts);
    });
    std::vector<RankBytes> received;
    for (auto& from : slot.parts) {
      received.push_back(std::move(from[static_cast<std::size_t>(rank)]));
    }
    return received;
  }

  /// Forgets what was before.
  void open() {
    for (Rank& rank : ranks_) {
      rank.exchanges = 0;
      rank.has_ended = false;
    }
    turn_ = 0;
    arrived_ = 0;
    finished_ = 0;
    stopped_ = false;
    error_ = nullptr;
  }

  /// Waits for the rank's first turn.
  void begin(int rank) {
    std::unique_lock lock(mutex_);
    wait_for_turn(rank, lock);
  }

  void end(int rank, std::exception_ptr error) {
    const std::scoped_lock lock(mutex_);
    ranks_[static_cast<std::size_t>(rank)].has_ended = true;
    if (error && !error_) error_ = std::move(error);
    pass_on();
  }

  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  struct Rank {
    std::condition_variable is_called;
    std::int64_t exchanges = 0;  ///< that it takes or took part in
    bool has_ended = false;
  };

  /// What ranks bring to one exchange.
  struct Slot {
    std::string_view what;
    std::vector<std::int64_t> numbers;
    std::vector<RankBytes> of_ranks;
    std::vector<std::vector<RankBytes>> parts;
  };

  /// Adds what this rank has with `give`.
  /// @return when all have
  template <class Give>
  Slot& take_part(int rank, std::string_view what, const Give& give) {
    std::unique_lock lock(mutex_);
    // While one rank is at the next exchange others may not yet have taken what the last one gave.
    Slot& slot = slots_[static_cast<std::size_t>(finished_ % 2)];
    if (arrived_ == 0) slot.what = what;
    if (slot.what != what) fail(formatted("rank {} calls {}, others {}", rank, what, slot.what));
    give(slot);
    ++ranks_[static_cast<std::size_t>(rank)].exchanges;
    if (++arrived_ < rank_count()) {
      on_wait_(rank);
      pass_on();
      wait_for_turn(rank, lock);
    } else {
      arrived_ = 0;
      ++finished_;
    }
    return slot;
  }

  [[noreturn]] static void fail(const std::string& what) {
    throw InternalError("exchange: the ranks are out of step: " + what);
  }

  /// Gives the turn to a rank that still has to come to this exchange, the nearest.
  void pass_on() {
    const auto is_awaited = [this](const Rank& rank) {
      return !rank.has_ended && rank.exchanges == finished_;
    };
    const auto left = std::ranges::count_if(ranks_, is_awaited);
    for (int step = 1; left > 0 && !error_ && step < rank_count(); ++step) {
      for (const int next : {turn_ - step, turn_ + step}) {
        if (next < 0 || next >= rank_count() || !is_awaited(ranks_[static_cast<std::size_t>(next)]))
          continue;
        turn_ = next;
        ranks_[static_cast<std::size_t>(next)].is_called.notify_one();
        return;
      }
    }
    // Nobody can come any more, or one has failed: those that wait cannot go on.
    stopped_ =
        stopped_ || std::ranges::any_of(ranks_, [](const Rank& rank) { return !rank.has_ended; });
    for (Rank& rank : ranks_) rank.is_called.notify_one();
  }

  void wait_for_turn(int rank, std::unique_lock<std::mutex>& lock) {
    const auto is_called = [&] { return turn_ == rank || stopped_ || error_; };
    // In turns, for the same reason as in workers.cpp.
    while (!ranks_[static_cast<std::size_t>(rank)].is_called.wait_for(lock, std::chrono::hours(1),
                                                                      is_called)) {
    }
    if (turn_ != rank || stopped_ || error_) {
      throw InternalError("exchange: another rank has ended and cannot be reached");
    }
  }

  std::mutex mutex_;
  std::vector<Rank> ranks_;
  const std::function<void(int)>& on_wait_;
  int turn_ = 0;
  int arrived_ = 0;
  std::int64_t finished_ = 0;
  bool stopped_ = false;
  std::exception_ptr error_;
  std::int64_t bytes_ = 0;
  std::array<Slot, 2> slots_;
};

namespace {

template <class Meeting>
class RankInTurn final : public Exchange {
 public:
  RankInTurn(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}

  [[nodiscard]] int rank() const noexcept override { return rank_; }
  [[nodiscard]] int size() const noexcept override { return meeting_.rank_count(); }
  void all_reduce(std::span<std::int64_t> numbers, Combine combine) override {
    meeting_.all_reduce(rank_, numbers, combine);
  }
  [[nodiscard]] std::vector<RankBytes> all_gather(std::span<const std::byte> bytes) override {
    return meeting_.all_gather(rank_, bytes);
  }
  [[nodiscard]] std::vector<RankBytes> all_to_all(std::vector<RankBytes> parts) override {
    return meeting_.all_to_all(rank_, std::move(parts));
  }

 private:
  Meeting& meeting_;
  int rank_;
};

}  // namespace

RanksInTurn::RanksInTurn(int rank_count)
    : meeting_(std::make_unique<Meeting>(rank_count, on_wait)) {}

RanksInTurn::~RanksInTurn() = default;

std::int64_t RanksInTurn::bytes_exchanged() const noexcept { return meeting_->bytes(); }

void RanksInTurn::run(const std::function<void(Exchange&)>& work) {
  meeting_->open();
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(meeting_->rank_count()));
  for (int rank = 0; rank < meeting_->rank_count(); ++rank) {
    threads.emplace_back([this, rank, &work] {
      std::exception_ptr error;
      try {
        meeting_->begin(rank);
        RankInTurn exchange(*meeting_, rank);
        work(exchange);
      } catch (...) {
        error = std::current_exception();
      }
      meeting_->end(rank, std::move(error));
    });
  }
  for (std::thread& thread : threads) thread.join();
  meeting_->rethrow();
}

}  // namespace rcap
