#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <termios.h>

#include "cli/watch_screen.hpp"

namespace rcap::cli {

/// The size of the terminal on standard output; 80 x 24 if it is not a terminal.
[[nodiscard]] ScreenSize screen_size();

/// Whether standard output is a terminal on which lines can be redrawn.
[[nodiscard]] bool can_redraw();

/// Whether standard output is a terminal that has colours, and the user wants them (NO_COLOR).
[[nodiscard]] bool has_colours();

/// Draws on the whole terminal and reads single keys. Its destructor restores the terminal.
class Terminal {
 public:
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void draw(const std::vector<std::string>& lines);

  /// Waits for a key. A signal also ends the wait.
  [[nodiscard]] std::optional<char> wait_for_key(std::chrono::milliseconds most);

 private:
  termios before_{};
  bool has_keys_;  ///< if so, `before_` holds the terminal's old settings
};

}  // namespace rcap::cli
