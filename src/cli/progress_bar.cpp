#include "cli/progress_bar.hpp"

#include <algorithm>
#include <cmath>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/ioctl.h>

#include "cli/tell.hpp"

namespace rcap::cli {
namespace {

constexpr auto DrawInterval = std::chrono::milliseconds(100);
constexpr int BarColumns = 24;

int terminal_columns() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

ProgressBar::ProgressBar(bool shown, Clock::duration log_interval)
    : shown_(shown),
      on_terminal_(::isatty(STDERR_FILENO) == 1),
      interval_(on_terminal_ ? DrawInterval : log_interval),
      last_(on_terminal_ ? Clock::now() - DrawInterval : Clock::now()) {}

bool ProgressBar::is_due() const { return shown_ && Clock::now() - last_ >= interval_; }

void ProgressBar::show(double part, const std::string& text) {
  if (!is_due()) return;
  last_ = Clock::now();
  if (on_terminal_) return draw(part, text);
  tell("{:3.0f} %  {}\n", 100 * std::clamp(part, 0.0, 1.0), text);
}

void ProgressBar::draw(double part, const std::string& text) {
  const int filled = static_cast<int>(std::lround(std::clamp(part, 0.0, 1.0) * BarColumns));
  std::string bar;
  for (int i = 0; i < BarColumns; ++i) bar += i < filled ? "━" : "╌";
  const auto room = static_cast<std::size_t>(std::max(terminal_columns() - BarColumns - 3, 0));
  tell("\r{} {}\x1b[K", bar, text.substr(0, room));
  drawn_ = true;
}

void ProgressBar::clear() {
  if (!on_terminal_) last_ = Clock::now();  // what is printed next shows progress too
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
