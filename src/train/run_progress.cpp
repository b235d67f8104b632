#include "train/run_progress.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fcntl.h>
#include <system_error>

#include <fmt/format.h>
#include <sys/file.h>

#include "base/file_handle.hpp"
#include "base/text_file.hpp"
#include "io/refuse_file.hpp"
#include "io/toml_options.hpp"
#include "train/run_folder.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

double seconds_since(const fs::path& path) {
  std::error_code error;
  const auto written = fs::last_write_time(path, error);
  if (error) return 0;
  const auto age = fs::file_time_type::clock::now() - written;
  return std::max(0.0, std::chrono::duration<double>(age).count());
}

}  // namespace

std::string RunProgress::word(std::string_view name) const {
  const auto found = std::ranges::find(options, name, &GivenOption::name);
  return found == options.end() ? "" : found->word;
}

std::size_t RunProgress::count(std::string_view name) const {
  const std::string text = word(name);
  std::size_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::size_t RunProgress::planned_epochs() const { return std::max(count("epochs"), epochs.size()); }

bool is_held(const fs::path& folder) {
  const FileHandle lock(::open((folder / run_files::Lock).c_str(), O_RDONLY | O_CLOEXEC));
  return lock.get() >= 0 && ::flock(lock.get(), LOCK_SH | LOCK_NB) != 0;
}

bool has_run_options(const fs::path& folder) { return is_there(folder / run_files::Options); }

RunProgress read_progress(const fs::path& folder) {
  RunProgress progress;
  progress.folder = folder;
  // The lock comes first: a run writes its summary before it releases the lock.
  progress.state = is_held(folder) ? RunState::Running : RunState::Stopped;
  const fs::path options = folder / run_files::Options;
  if (is_there(options)) progress.options = read_toml_options(options);
  const fs::path records = folder / run_files::Records;
  if (is_there(records)) progress.epochs = epochs_from_text(records, read_text(records));
  if (const fs::path summary = folder / run_files::Summary; is_there(summary)) {
    progress.summary = summary_from_text(summary, read_text(summary));
    progress.state = RunState::Finished;
  }
  if (progress.makes_scores() && is_there(folder / run_files::Scores)) {
    progress.state = RunState::Finished;
  }
  progress.quiet_seconds = seconds_since(progress.epochs.empty() ? options : records);
  return progress;
}

}  // namespace rcap
