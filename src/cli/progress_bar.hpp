#pragma once

#include <chrono>
#include <string>

namespace rcap::cli {

/// How far a long command is: on a terminal, one line that is redrawn a few times per second; in a
/// log, a separate line whenever nothing was printed for a while.
class ProgressBar {
 public:
  using Clock = std::chrono::steady_clock;

  /// @param shown         false: it prints nothing
  /// @param log_interval  the longest silence in a log
  explicit ProgressBar(bool shown, Clock::duration log_interval = std::chrono::seconds(10));
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// @param part  the fraction done, 0 to 1
  /// @param text  follows the bar
  void show(double part, const std::string& text);

  /// Whether `show` would print now, so that text is not made for nothing.
  [[nodiscard]] bool is_due() const;

  /// Whether it is shown, and on a terminal.
  [[nodiscard]] bool is_on_terminal() const noexcept { return shown_ && on_terminal_; }

  /// Clears the line before something else is printed.
  void clear();

 private:
  void draw(double part, const std::string& text);

  bool shown_;
  bool on_terminal_;
  bool drawn_ = false;
  Clock::duration interval_;
  Clock::time_point last_;
};

/// done / total; 1 if both are 0.
template <class Count>
[[nodiscard]] double part_of(Count done, Count total) {
  return total == 0 ? 1.0 : static_cast<double>(done) / static_cast<double>(total);
}

/// "0:07", "12:31", "3:05:00".
[[nodiscard]] std::string as_time(double seconds);

}  // namespace rcap::cli
