#include "cli/run_main.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <vector>

#include <fmt/format.h>

#include "rcap/core/error.hpp"

namespace rcap::cli {
namespace {

std::atomic<bool> stop_asked = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

enum ExitCode : int { Success = 0, OurMistake = 1, UserMistake = 2, StoppedByUser = 130 };

/// Prints one line, whatever bytes the message took over from names and values.
int fail(ExitCode code, std::string message) {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  std::replace_if(message.begin(), message.end(), is_control, ' ');
  std::fflush(stdout);
  fmt::print(stderr, "rcap: {}\n", message);
  return code;
}

}  // namespace

void watch_for_stop() {
  struct sigaction action {};
  action.sa_handler = [](int) { stop_asked = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

bool stop_was_asked() noexcept { return stop_asked; }

int run_main(int argc, char** argv, void (*program)(std::span<const std::string>)) {
  try {
    program(std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
    if (std::fflush(stdout) != 0) return fail(UserMistake, "cannot write to standard output");
    return Success;
  } catch (const Stopped& stopped) {
    return fail(StoppedByUser, stopped.what());
  } catch (const InternalError& error) {
    return fail(OurMistake,
                fmt::format("{}; this is a fault of rcap, please report it", error.what()));
  } catch (const Error& error) {
    return fail(UserMistake, error.what());
  } catch (const std::bad_alloc&) {
    return fail(OurMistake, "out of memory; use a machine with more, or a smaller data set");
  } catch (const std::exception& error) {
    return fail(OurMistake, fmt::format("unexpected: {}; this is a fault of rcap, please report it",
                                        error.what()));
  }
}

}  // namespace rcap::cli
