#include "rcap/core/workers.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/file_handle.hpp"
#include "base/start_threads.hpp"

namespace rcap {
namespace {

/// A count that threads wait to see changed. The next pass of a selection follows soon, often
/// before the system would have woken a sleeping thread, so they look for a while before they
/// sleep.
class WatchedCount {
 public:
  [[nodiscard]] int value() const noexcept { return value_.load(std::memory_order_acquire); }
  /// While nobody waits.
  void reset(int value) noexcept { value_ = value; }

  void add(int change) {
    {
      const std::lock_guard lock(mutex_);  // so that no thread that is about to sleep misses it
      value_ += change;
    }
    changed_.notify_all();
  }

  // Not by the atomic's own `wait`: where the system has nothing like it, as on Windows, that of
  // GCC 12 can miss a notification.
  void wait_while(int old) {
    constexpr int Looks = 300;
    for (int look = 0; look < Looks; ++look) {
      if (value() != old) return;
      std::this_thread::yield();
    }
    std::unique_lock lock(mutex_);
    // In turns, since `wait` without a time would take the library of GCC 12, which RHEL 9 lacks.
    while (!changed_.wait_for(lock, std::chrono::hours(1), [&] { return value() != old; })) {
    }
  }

 private:
  std::atomic<int> value_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace

class Workers::Team {
 public:
  explicit Team(int count)
      : helpers_(start_threads(count - 1, [this](int number) { help(number + 1); })) {}

  ~Team() {
    stopping_ = true;
    pass_.add(1);
    for (std::thread& helper : helpers_) helper.join();
  }

  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  void run(std::int64_t chunk_count, const std::function<void(std::int64_t, int)>& work) {
    work_ = &work;
    chunk_count_ = chunk_count;
    next_chunk_ = 0;
    failure_ = nullptr;
    busy_.reset(static_cast<int>(helpers_.size()));
    pass_.add(1);
    take_chunks(0);
    for (int busy; (busy = busy_.value()) != 0;) busy_.wait_while(busy);
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void help(int worker) {
    for (int seen = 0;; ++seen) {
      pass_.wait_while(seen);
      if (stopping_) return;
      take_chunks(worker);
      busy_.add(-1);
    }
  }

  void take_chunks(int worker) {
    try {
      for (std::int64_t chunk; (chunk = next_chunk_.fetch_add(1)) < chunk_count_;) {
        (*work_)(chunk, worker);
      }
    } catch (...) {
      const std::lock_guard lock(failure_mutex_);
      if (!failure_) failure_ = std::current_exception();
      next_chunk_ = chunk_count_;
    }
  }

  WatchedCount pass_;  ///< how many passes have started
  WatchedCount busy_;  ///< helpers that have not ended the current one
  std::atomic<bool> stopping_{false};
  std::atomic<std::int64_t> next_chunk_{0};
  std::int64_t chunk_count_ = 0;
  const std::function<void(std::int64_t, int)>* work_ = nullptr;
  std::exception_ptr failure_;
  std::mutex failure_mutex_;
  std::vector<std::thread> helpers_;  ///< last: they use the others
};

Workers::Workers(int threads) : count_(std::max(1, threads)) {}

Workers::~Workers() {
  // Threads of another process cannot be ended or waited for from here.
  if (team_ && team_process_ != process_number()) (void)team_.release();
}

void Workers::for_each_chunk(std::int64_t chunk_count,
                             const std::function<void(std::int64_t, int)>& work) const {
  if (count_ == 1 || chunk_count < 2) {
    for (std::int64_t chunk = 0; chunk < chunk_count; ++chunk) work(chunk, 0);
    return;
  }
  if (!team_ || team_process_ != process_number()) {
    (void)team_.release();
    team_ = std::make_unique<Team>(count_);
    team_process_ = process_number();
  }
  team_->run(chunk_count, work);
}

}  // namespace rcap
