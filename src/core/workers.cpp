#include "rcap/core/workers.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <vector>

#include "base/start_threads.hpp"

namespace rcap {
namespace {

/// Waits until `value` is no longer `old`. The next pass of a selection follows soon,
/// often before the system would have woken a sleeping thread: spin for a while first.
void wait_while(const std::atomic<int>& value, int old) {
  constexpr int Looks = 300;
  for (int look = 0; look < Looks; ++look) {
    if (value.load(std::memory_order_acquire) != old) return;
    std::this_thread::yield();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

class Workers::Team {
 public:
  explicit Team(int count)
      : helpers_(start_threads(count - 1, [this](int number) { help(number + 1); })) {}

  ~Team() {
    stopping_ = true;
    start_pass();
    for (std::thread& helper : helpers_) helper.join();
  }

  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  void run(std::int64_t chunk_count, const std::function<void(std::int64_t, int)>& work) {
    work_ = &work;
    chunk_count_ = chunk_count;
    next_chunk_ = 0;
    failure_ = nullptr;
    busy_ = static_cast<int>(helpers_.size());
    start_pass();
    take_chunks(0);
    for (int busy; (busy = busy_.load(std::memory_order_acquire)) != 0;) wait_while(busy_, busy);
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void start_pass() {
    ++pass_;
    pass_.notify_all();
  }

  void help(int worker) {
    for (int seen = 0;; ++seen) {
      wait_while(pass_, seen);
      if (stopping_) return;
      take_chunks(worker);
      --busy_;
      busy_.notify_one();
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

  std::atomic<int> pass_{0};  ///< how many passes have started
  std::atomic<int> busy_{0};  ///< helpers that have not ended the current one
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
  if (team_ && team_process_ != ::getpid()) (void)team_.release();
}

void Workers::for_each_chunk(std::int64_t chunk_count,
                             const std::function<void(std::int64_t, int)>& work) const {
  if (count_ == 1 || chunk_count < 2) {
    for (std::int64_t chunk = 0; chunk < chunk_count; ++chunk) work(chunk, 0);
    return;
  }
  if (!team_ || team_process_ != ::getpid()) {
    (void)team_.release();
    team_ = std::make_unique<Team>(count_);
    team_process_ = ::getpid();
  }
  team_->run(chunk_count, work);
}

}  // namespace rcap
