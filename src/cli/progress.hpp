#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <unistd.h>

#include <fmt/format.h>

namespace rcap::cli {

/// One line on a terminal that replaces itself, and goes away at the end. Prints nothing
/// where standard error is not a terminal.
class Progress {
 public:
  explicit Progress(bool quiet) : shown_(!quiet && ::isatty(STDERR_FILENO) == 1) {}
  ~Progress() {
    if (shown_) fmt::print(stderr, "\r\x1b[K");
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::string_view what) const {
    if (shown_) fmt::print(stderr, "\r\x1b[K{}", what);
  }

  /// "what: 42 %", whenever the number changes.
  void show_part(const std::string& what, std::uint64_t done, std::uint64_t total) {
    const auto percent = static_cast<int>(total == 0 ? 100 : done * 100 / total);
    if (!shown_ || (percent == last_percent_ && what == last_)) return;
    last_percent_ = percent;
    last_ = what;
    show(fmt::format("{}: {} %", what, percent));
  }

 private:
  bool shown_;
  int last_percent_ = -1;
  std::string last_;
};

}  // namespace rcap::cli
