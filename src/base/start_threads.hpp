#pragma once

#include <exception>
#include <thread>
#include <vector>

namespace rcap {

/// Starts up to `count` threads, each running `work(number)`, numbered from 0: as many as the
/// system allows. If it allows fewer (a container's limit of processes, memory for their stacks),
/// fewer do the work.
/// @return the threads that run; to be joined
template <class Work>
[[nodiscard]] std::vector<std::thread> start_threads(int count, const Work& work) {
  std::vector<std::thread> threads;
  try {
    for (int number = 0; number < count; ++number) threads.emplace_back(work, number);
  } catch (const std::exception&) {  // no thread, or no memory for one
  }
  return threads;
}

}  // namespace rcap
