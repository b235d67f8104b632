#include "core/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace rcap {

int worker_count(std::int64_t chunk_count, int threads) {
  return static_cast<int>(
      std::clamp<std::int64_t>(threads, 1, std::max<std::int64_t>(1, chunk_count)));
}

void for_each_chunk(std::int64_t chunk_count, int threads,
                    const std::function<void(std::int64_t, int)>& work) {
  std::atomic<std::int64_t> next{0};
  std::exception_ptr first_failure;
  std::mutex failure_mutex;
  const auto run = [&](int worker) {
    try {
      for (std::int64_t chunk; (chunk = next.fetch_add(1)) < chunk_count;) work(chunk, worker);
    } catch (...) {
      const std::lock_guard lock(failure_mutex);
      if (!first_failure) first_failure = std::current_exception();
      next = chunk_count;
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (int worker = 1; worker < worker_count(chunk_count, threads); ++worker) {
      helpers.emplace_back(run, worker);
    }
    run(0);
  }
  if (first_failure) std::rethrow_exception(first_failure);
}

}  // namespace rcap
