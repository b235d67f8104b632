#include "cli/terminal.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <unistd.h>

#include <poll.h>
#include <sys/ioctl.h>

namespace rcap::cli {
namespace {

constexpr const char* EnterScreen = "\x1b[?1049h\x1b[?25l";  // a second screen, without a cursor
constexpr const char* LeaveScreen = "\x1b[?25h\x1b[?1049l";

/// The value of an environment variable; empty if it is not set.
std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void send(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

ScreenSize screen_size() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
    return {};
  }
  return {.columns = size.ws_col, .rows = size.ws_row};
}

bool can_redraw() {
  const std::string_view kind = environment("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && !kind.empty() && kind != "dumb";
}

bool has_colours() {
  if (!can_redraw() || !environment("NO_COLOR").empty()) return false;
  const std::string_view kind = environment("TERM");
  const bool is_plain = kind.starts_with("vt1") || kind.starts_with("vt2") ||
                        kind.ends_with("-m") || kind.ends_with("-mono");
  return !is_plain;
}

Terminal::Terminal()
    : has_keys_(::isatty(STDIN_FILENO) == 1 && ::tcgetattr(STDIN_FILENO, &before_) == 0) {
  if (has_keys_) {
    termios keys = before_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    keys.c_cc[VMIN] = 1;
    keys.c_cc[VTIME] = 0;
    keys.c_cc[VSUSP] = _POSIX_VDISABLE;  // a suspended program would not restore the screen
    ::tcsetattr(STDIN_FILENO, TCSANOW, &keys);
  }
  send(EnterScreen);
}

Terminal::~Terminal() {
  send(LeaveScreen);
  if (has_keys_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

void Terminal::draw(const std::vector<std::string>& lines) {
  // Each line erases the rest of the old one, so that nothing flickers.
  std::string text = "\x1b[H";
  for (std::size_t row = 0; row < lines.size(); ++row) {
    if (row > 0) text += "\r\n";
    text += lines[row] + "\x1b[K";
  }
  send(text + "\x1b[J");
}

std::optional<char> Terminal::wait_for_key(std::chrono::milliseconds most) {
  pollfd keys{.fd = has_keys_ ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0};
  if (::poll(&keys, 1, static_cast<int>(most.count())) <= 0) return std::nullopt;
  char key = 0;
  if (::read(STDIN_FILENO, &key, 1) == 1) return key;
  has_keys_ = false;  // the terminal is gone; a read that fails at once must not be repeated
  return std::nullopt;
}

}  // namespace rcap::cli
