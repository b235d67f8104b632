#pragma once

#include <chrono>
#include <string>

namespace rcap::cli {

/// One line on a terminal that is drawn again and again, a few times a second. Anywhere
/// else it draws nothing: logs get whole lines from whoever uses it.
class ProgressBar {
 public:
  explicit ProgressBar(bool shown);
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// @param part  done, 0 to 1
  /// @param text  follows the bar
  void show(double part, const std::string& text);

  /// Whether `show` would draw now, so that a text need not be made in vain.
  [[nodiscard]] bool is_due() const;

  /// Whether there is a terminal to draw on.
  [[nodiscard]] bool is_shown() const noexcept { return shown_; }

  /// Takes the line away, before something else is printed.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  bool shown_;
  bool drawn_ = false;
  Clock::time_point last_ = Clock::time_point::min();
};

/// done / total; all of nothing is 1.
template <class Count>
[[nodiscard]] double part_of(Count done, Count total) {
  return total == 0 ? 1.0 : static_cast<double>(done) / static_cast<double>(total);
}

/// "0:07", "12:31", "3:05:00".
[[nodiscard]] std::string as_time(double seconds);

}  // namespace rcap::cli
