#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/run_main.hpp"
#include "cli/terminal.hpp"
#include "cli/watch_screen.hpp"
#include "rcap/core/error.hpp"
#include "train/run_folder.hpp"
#include "train/run_progress.hpp"

namespace rcap::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds LookInterval{250};
constexpr std::chrono::seconds DrawInterval{1};  // so that the time left counts down between epochs
constexpr const char* Hint = "q quits, the run goes on";

// ---- which run

/// Folders of the runs that were started in a folder: of a study, or of several runs.
std::vector<fs::path> runs_in(const fs::path& folder) {
  std::error_code error;
  const fs::path place = fs::is_directory(folder / "runs", error) ? folder / "runs" : folder;
  std::vector<fs::path> found;
  for (fs::directory_iterator entry(place, error); !error && entry != fs::end(entry);
       entry.increment(error)) {
    if (has_run_options(entry->path())) found.push_back(entry->path());
  }
  std::ranges::sort(found);
  return found;
}

bool is_under_way(const fs::path& run) {
  std::error_code error;
  return !fs::exists(run / run_files::Summary, error) && is_held(run);
}

/// The run under way that was started last.
std::optional<fs::path> newest_under_way(const std::vector<fs::path>& runs) {
  std::optional<fs::path> newest;
  fs::file_time_type begun{};
  for (const fs::path& run : runs) {
    std::error_code error;
    const auto time = fs::last_write_time(run / run_files::Options, error);
    if (error || (newest && time <= begun) || !is_under_way(run)) continue;
    newest = run;
    begun = time;
  }
  return newest;
}

/// Which run to draw: that of the folder itself, or the one under way in a folder of several.
class Subject {
 public:
  /// @throws InvalidArgument  there is no run in the folder, or none under way
  explicit Subject(const fs::path& folder) : folder_(folder) {
    std::error_code error;
    if (!fs::is_directory(folder, error)) {
      throw InvalidArgument(fmt::format(
          "watch: there is no folder {}; give the --out of rcap train", folder.string()));
    }
    if (has_run_options(folder) || is_held_without_runs()) {
      run_ = folder;
      return;
    }
    has_several_ = true;
    find_in_study();
  }

  [[nodiscard]] const fs::path& run() const noexcept { return run_; }

  /// Switches to the next run of a study when this one has ended.
  /// @return false if there is no other
  bool move_on() {
    if (!has_several_) return false;
    const auto next = newest_under_way(runs_in(folder_));
    if (next) run_ = *next;
    return next.has_value();
  }

  /// Whether a study is between two runs.
  [[nodiscard]] bool may_go_on() const { return has_several_ && is_held(folder_); }

 private:
  /// A run that has just started holds its folder but has written nothing.
  [[nodiscard]] bool is_held_without_runs() const {
    return is_held(folder_) && runs_in(folder_).empty();
  }

  void find_in_study() {
    const std::vector<fs::path> runs = runs_in(folder_);
    if (runs.empty()) {
      throw InvalidArgument(
          fmt::format("watch: {} is not the folder of a run: there is no {} in it, nor in the "
                      "folders in it; give the --out of rcap train or of rcap study",
                      folder_.string(), run_files::Options));
    }
    if (const auto found = newest_under_way(runs)) {
      run_ = *found;
      return;
    }
    const auto done = std::ranges::count_if(runs, [](const fs::path& run) {
      std::error_code error;
      return fs::exists(run / run_files::Summary, error);
    });
    throw InvalidArgument(fmt::format(
        "watch: none of the {} runs in {} is under way (with a result: {}); rcap report "
        "{} shows all results, rcap watch {} one run",
        runs.size(), folder_.string(), done, folder_.string(), runs.front().string()));
  }

  fs::path folder_;
  fs::path run_;
  bool has_several_ = false;
};

// ---- what changes

/// What is checked a few times per second, so that files are read only when there is news.
struct News {
  bool is_held = false;
  bool has_summary = false;
  std::uintmax_t record_bytes = 0;
  fs::file_time_type written{};

  bool operator==(const News&) const = default;
};

News news_of(const fs::path& run) {
  std::error_code error;
  News news{.is_held = is_held(run), .has_summary = fs::exists(run / run_files::Summary, error)};
  const fs::path records = run / run_files::Records;
  const auto bytes = fs::file_size(records, error);
  if (!error) news.record_bytes = bytes;
  const auto written = fs::last_write_time(records, error);
  if (!error) news.written = written;
  return news;
}

void print_picture(const RunProgress& run, ScreenSize size) {
  for (const std::string& line : draw_run(run, size, has_colours())) fmt::print("{}\n", line);
}

/// The run that is drawn, read again when there is news.
class Picture {
 public:
  explicit Picture(const fs::path& folder) { read(folder); }

  [[nodiscard]] const RunProgress& run() const noexcept { return run_; }

  /// @return whether there is anything new to draw
  bool look(const fs::path& folder) {
    if (folder == run_.folder && news_of(folder) == news_) return false;
    read(folder);
    return true;
  }

  /// The run as it is now: time passes even if there is no news.
  [[nodiscard]] RunProgress present() const {
    RunProgress present = run_;
    present.quiet_seconds += std::chrono::duration<double>(Clock::now() - read_at_).count();
    return present;
  }

 private:
  void read(const fs::path& folder) {
    news_ = news_of(folder);  // before the files are read, so that later changes are news again
    run_ = read_progress(folder);
    read_at_ = Clock::now();
  }

  RunProgress run_;
  News news_;
  Clock::time_point read_at_;
};

/// Draws until the run ends.
/// @return empty if the user quit before
std::optional<RunProgress> draw_until_end(Subject& subject) {
  watch_for_stop();
  Terminal terminal;
  Picture picture(subject.run());
  std::optional<ScreenSize> drawn_size;
  Clock::time_point drawn_at;
  while (!stop_was_asked()) {
    const bool has_ended = picture.run().state != RunState::Running;
    if (has_ended && !subject.move_on() && !subject.may_go_on()) return picture.run();
    const bool has_news = picture.look(subject.run());
    const ScreenSize size = screen_size();
    if (has_news || size != drawn_size || Clock::now() - drawn_at >= DrawInterval) {
      terminal.draw(draw_run(picture.present(), size, has_colours(), Hint));
      drawn_size = size;
      drawn_at = Clock::now();
    }
    if (const auto key = terminal.wait_for_key(LookInterval); key == 'q' || key == 'Q') break;
  }
  return std::nullopt;
}

}  // namespace

void run_watch(std::span<const std::string> words) {
  fs::path folder;
  bool once = false;
  CommandLine line(
      "watch", "Draws a training that is under way: curves, class shares, time left.",
      R"(RUN is the --out of rcap train. The picture is redrawn after every epoch until the run
ends; q and Ctrl-C quit, and the run goes on. A run that has ended is drawn once. For a
study, give its --out: it draws the run under way (the last one started if there are several),
and the next one when that ends.

If standard output is not a terminal, the picture is printed once, 80 columns wide. Colours
are those of the terminal; set NO_COLOR=1 to turn them off.

Examples: in a second terminal, and into a file
  rcap watch runs/rcap
  rcap watch runs/rcap --once > state.txt)");
  line.argument("RUN", folder);
  line.group("Output");
  line.flag("once", once, "print the current state and exit");
  if (!line.parse(words)) return;
  if (folder.empty()) {
    throw InvalidArgument("watch: RUN is missing; give the --out of rcap train: rcap watch RUN");
  }
  Subject subject(folder);
  const RunProgress found = read_progress(subject.run());
  if (once || !can_redraw() || found.state != RunState::Running) {
    return print_picture(found, screen_size());
  }
  if (const auto ended = draw_until_end(subject)) {
    ScreenSize size = screen_size();
    --size.rows;  // for the prompt
    print_picture(*ended, size);
  }
}

}  // namespace rcap::cli
