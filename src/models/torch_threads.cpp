#include "models/torch_threads.hpp"

#include <cstdlib>
#include <mutex>
#include <string_view>
#include <unistd.h>

#include <torch/torch.h>

namespace rcap {
namespace {

bool starts_threads = false;

/// OpenMP ends the program if a thread cannot be started, with a message that does not help.
void explain_missing_threads() {
  if (!starts_threads) return;
  constexpr std::string_view Line =
      "rcap: the system cannot start that many threads; choose fewer with --threads\n";
  (void)!::write(STDERR_FILENO, Line.data(), Line.size());
  constexpr int UserMistake = 2;
  ::_exit(UserMistake);
}

}  // namespace

void set_torch_threads(int threads) {
  static std::once_flag once;
  std::call_once(once, [] {
    std::atexit(explain_missing_threads);
    // Can be set only once per process, before any work: we use no parallelism between operations.
    at::set_num_interop_threads(1);
  });
  at::set_num_threads(threads);
  starts_threads = true;
  torch::zeros({threads * at::internal::GRAIN_SIZE}, torch::kByte).add_(1);
  starts_threads = false;
}

}  // namespace rcap
