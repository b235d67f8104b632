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
  int exit_code = 0;  ///< meaningful where `signal` is 0
  int signal = 0;     ///< that ended it; 0: none
};

/// Holds back SIGCHLD while it lives, so that `wait_for_child` can sleep until a child ends.
class ChildWatch {
 public:
  ChildWatch();
  ~ChildWatch();
  ChildWatch(const ChildWatch&) = delete;
  ChildWatch& operator=(const ChildWatch&) = delete;

  /// Starts a program in `folder`, without input, with its output added to `log`.
  ///
  /// It is killed when this process ends, however that comes about, and a Ctrl-C on the
  /// terminal does not reach it: whoever started it decides. File descriptors without
  /// O_CLOEXEC are handed on.
  /// @throws BadFile  it cannot be started
  [[nodiscard]] pid_t start(const std::filesystem::path& program,
                            const std::vector<std::string>& words,
                            const std::filesystem::path& folder,
                            const std::filesystem::path& log) const;

  /// The next child that ended; nothing if the time is over, or a signal came, before.
  [[nodiscard]] std::optional<ChildEnd> wait_for_child(std::chrono::milliseconds longest) const;

 private:
  sigset_t before_{};
};

}  // namespace rcap
