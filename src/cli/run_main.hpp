#pragma once

#include <span>
#include <stdexcept>
#include <string>

namespace rcap::cli {

/// The user stopped the program with Ctrl-C, and it has cleaned up.
class Stopped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Something failed after files were changed; the message says how to continue.
class Unfinished : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// From now on the first Ctrl-C or SIGTERM only makes `stop_was_asked` true; the second one ends
/// the program at once.
void watch_for_stop();
[[nodiscard]] bool stop_was_asked() noexcept;

/// The body of every `main`: runs the program on its words and turns exceptions into one line on
/// standard error and an exit code: 0, 2 for the user's mistakes, 130 when stopped, 1 for our
/// mistakes and whatever else goes wrong, such as a standard output that cannot be written.
[[nodiscard]] int run_main(int argc, char** argv, void (*program)(std::span<const std::string>));

}  // namespace rcap::cli
