#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace rcap {

/// How a process ended.
struct ChildEnd {
  pid_t process = 0;
  int exit_code = 0;  ///< meaningful if `signal` is 0
  int signal = 0;     ///< the signal that ended it; 0: none
};

/// Blocks SIGCHLD while it exists, so that `wait_for_child` can sleep until a child ends.
class ChildWatch {
 public:
  ChildWatch();
  ~ChildWatch();
  ChildWatch(const ChildWatch&) = delete;
  ChildWatch& operator=(const ChildWatch&) = delete;

  /// Starts a program in `folder`, without input, with its output appended to `log`.
  ///
  /// It is killed when this process ends for whatever reason, and a Ctrl-C on the terminal does not
  /// reach it: this process decides when to stop it. It inherits file descriptors without
  /// O_CLOEXEC.
  /// @throws BadFile  it cannot be started
  [[nodiscard]] pid_t start(const std::filesystem::path& program,
                            const std::vector<std::string>& words,
                            const std::filesystem::path& folder,
                            const std::filesystem::path& log) const;

  /// The next child that ended; empty if the time ran out or a signal came first.
  [[nodiscard]] std::optional<ChildEnd> wait_for_child(std::chrono::milliseconds longest) const;

 private:
  sigset_t before_{};
};

}  // namespace rcap
