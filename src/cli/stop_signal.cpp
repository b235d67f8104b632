#include "cli/stop_signal.hpp"

#include <atomic>
#include <csignal>

namespace rcap::cli {
namespace {

std::atomic<bool> asked = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

}  // namespace

void watch_for_stop() {
  struct sigaction action {};
  action.sa_handler = [](int) { asked = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

bool stop_was_asked() noexcept { return asked; }

}  // namespace rcap::cli
