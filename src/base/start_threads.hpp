#pragma once

#include <exception>
#include <thread>
#include <vector>

namespace rcap {

/// Starts up to `count` threads, each of which runs `work(number)`, counted from 0: as many as the
/// system has to give. Where it has no more (a container's limit of processes, memory for their
/// stacks) the work is done by fewer.
/// @return those that run; to be joined
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
