#include "cli/run_main.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <filesystem>
#include <new>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "cli/tell.hpp"
#include "rcap/core/error.hpp"

namespace rcap::cli {
namespace {

std::atomic<bool> stop_asked = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

enum ExitCode : int { Success = 0, OurMistake = 1, UserMistake = 2, StoppedByUser = 130 };

/// If a standard stream is closed, the next file opened would get its number, and its text. Writing
/// to the streams opened here fails, as it did before.
void open_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) < 0) (void)::open("/dev/null", O_RDONLY);
  }
}

/// If the reader of a pipe has gone, writing fails and the program goes on: a training is worth
/// more than its log.
void outlive_readers() { std::signal(SIGPIPE, SIG_IGN); }

/// Weights and states are memory-mapped; if a file is truncated meanwhile, reading it raises a
/// signal.
void explain_lost_bytes(int) {
  constexpr std::string_view Line =
      "rcap: a file was cut off while it was read, or its disk failed; repeat the command when the "
      "file is complete\n";
  (void)!::write(STDERR_FILENO, Line.data(), Line.size());
  ::_exit(OurMistake);
}

/// Prints one line, whatever bytes the message contains from names and values.
int fail(ExitCode code, std::string message) {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  std::replace_if(message.begin(), message.end(), is_control, ' ');
  std::fflush(stdout);
  tell("rcap: {}\n", message);
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
  // Files may have been written by then, so this is not a mistake that changed nothing.
  constexpr const char* NoOutput = "cannot write to standard output";
  open_standard_streams();
  outlive_readers();
  std::signal(SIGBUS, explain_lost_bytes);
  if (std::error_code gone; std::filesystem::current_path(gone).empty()) {
    return fail(UserMistake, "the current folder has been removed; change to another one");
  }
  try {
    program(std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
    return std::fflush(stdout) == 0 ? Success : fail(OurMistake, NoOutput);
  } catch (const Stopped& stopped) {
    return fail(StoppedByUser, stopped.what());
  } catch (const Unfinished& unfinished) {
    return fail(OurMistake, unfinished.what());
  } catch (const InternalError& error) {
    return fail(OurMistake,
                fmt::format("{}; this is a bug in rcap, please report it", error.what()));
  } catch (const Error& error) {
    return fail(UserMistake, error.what());
  } catch (const std::bad_alloc&) {
    return fail(OurMistake, "out of memory; use a machine with more, or a smaller data set");
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(OurMistake, fmt::format("{}: {}", error.path1().string(), error.code().message()));
  } catch (const std::exception& error) {
    if (std::ferror(stdout) != 0) return fail(OurMistake, NoOutput);
    return fail(OurMistake, fmt::format("unexpected: {}; this is a bug in rcap, please report it",
                                        error.what()));
  }
}

}  // namespace rcap::cli
