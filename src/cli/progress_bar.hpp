#pragma once

#include <chrono>
#include <string>

namespace rcap::cli {

/// How far a long command has come: on a terminal one line that is drawn again and again, a few
/// times a second; in a log a line of its own whenever nothing was printed for a while.
class ProgressBar {
 public:
  using Clock = std::chrono::steady_clock;

  /// @param shown         false: it never prints anything
  /// @param log_interval  the longest silence of a log
  explicit ProgressBar(bool shown, Clock::duration log_interval = std::chrono::seconds(10));
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// @param part  done, 0 to 1
  /// @param text  follows the bar
  void show(double part, const std::string& text);

  /// Whether `show` would print now, so that a text need not be made for nothing.
  [[nodiscard]] bool is_due() const;

  /// Whether it is shown, and on a terminal.
  [[nodiscard]] bool is_on_terminal() const noexcept { return shown_ && on_terminal_; }

  /// Makes room before something else is printed.
  void clear();

 private:
  void draw(double part, const std::string& text);

  bool shown_;
  bool on_terminal_;
  bool drawn_ = false;
  Clock::duration interval_;
  Clock::time_point last_;
};

/// done / total; all of nothing is 1.
template <class Count>
[[nodiscard]] double part_of(Count done, Count total) {
  return total == 0 ? 1.0 : static_cast<double>(done) / static_cast<double>(total);
}

/// "0:07", "12:31", "3:05:00".
[[nodiscard]] std::string as_time(double seconds);

}  // namespace rcap::cli
