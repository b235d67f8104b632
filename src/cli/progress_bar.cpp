#include "cli/progress_bar.hpp"

#include <algorithm>
#include <cmath>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/ioctl.h>

#include "cli/tell.hpp"

namespace rcap::cli {
namespace {

constexpr auto Interval = std::chrono::milliseconds(100);
constexpr int BarColumns = 24;

int terminal_columns() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

ProgressBar::ProgressBar(bool shown) : shown_(shown && ::isatty(STDERR_FILENO) == 1) {}

bool ProgressBar::is_due() const {
  return shown_ && (last_ == Clock::time_point::min() || Clock::now() - last_ >= Interval);
}

void ProgressBar::show(double part, const std::string& text) {
  if (!is_due()) return;
  last_ = Clock::now();
  const int filled = static_cast<int>(std::lround(std::clamp(part, 0.0, 1.0) * BarColumns));
  std::string bar;
  for (int i = 0; i < BarColumns; ++i) bar += i < filled ? "━" : "╌";
  const auto room = static_cast<std::size_t>(std::max(terminal_columns() - BarColumns - 3, 0));
  tell("\r{} {}\x1b[K", bar, text.substr(0, room));
  drawn_ = true;
}

void ProgressBar::clear() {
  if (!drawn_) return;
  tell("\r\x1b[K");
  drawn_ = false;
}

std::string as_time(double seconds) {
  const auto whole = std::llround(std::max(seconds, 0.0));
  if (whole >= 3600) {
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  }
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace rcap::cli
