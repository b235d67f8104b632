#include "train/run_folder.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>

#include "base/make_folder.hpp"
#include "base/staged_file.hpp"
#include "base/text_file.hpp"
#include "io/refuse_file.hpp"
#include "io/toml_options.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

double seconds_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

[[noreturn]] void fail(const fs::path& path, const char* what) {
  refuse_file(path, "{}: {}", what, std::strerror(errno));
}

int open_or_fail(const fs::path& path, int flags) {
  const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
  if (descriptor < 0) fail(path, "cannot be opened");
  return descriptor;
}

/// Opens the folder's lock; creates the folder if needed.
int open_lock(const fs::path& folder) {
  make_folder(folder);
  return open_or_fail(folder / run_files::Lock, O_RDWR | O_CREAT);
}

/// A program that watches a run takes the lock for an instant to see whether it is free, so this
/// waits a little.
bool take_lock(int file) {
  constexpr int Tries = 100;
  for (int i = 0; i < Tries; ++i) {
    if (::flock(file, LOCK_EX | LOCK_NB) == 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace

std::vector<fs::path> checkpoints_in(const fs::path& folder) {
  std::vector<fs::path> found;
  if (!fs::exists(folder)) return found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::end(entry);
       entry.increment(error)) {
    if (entry->path().filename().string().starts_with("epoch-")) found.push_back(entry->path());
  }
  if (error) refuse_file(folder, "cannot be listed: {}", error.message());
  std::ranges::sort(found);
  return found;
}

void require_begun_run(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / run_files::Options, error)) return;
  throw InvalidArgument(fmt::format(
      "{}: has no run to resume, since there is no {} in it; without resume a new run is started",
      folder.string(), run_files::Options));
}

RunFolder::RunFolder(const fs::path& path) : path_(path), lock_(open_lock(path)) {
  if (!take_lock(lock_.get())) {
    throw InvalidArgument(fmt::format(
        "{}: another process is training in this folder; wait for it, or choose another folder",
        path_.string()));
  }
}

bool RunFolder::has_options() const { return fs::exists(path_ / run_files::Options); }

bool RunFolder::has_results() const {
  std::error_code error;
  const auto records_size = fs::file_size(path_ / run_files::Records, error);
  return (!error && records_size > 0) || fs::exists(path_ / run_files::Summary);
}

bool RunFolder::has_run() const {
  return !checkpoints_in(checkpoints()).empty() || has_results() || fs::exists(scores());
}

void RunFolder::begin(const TrainOptions& options) {
  // With options, event files are from a run that stopped at once; without, they are not ours.
  if (has_options()) remove_event_files();
  write_text(path_ / run_files::Options, to_toml(options));
  open_records();
}

void RunFolder::require_same_options(const TrainOptions& options) const {
  const fs::path path = path_ / run_files::Options;
  const TrainOptions begun = make_options(read_toml_options(path), Reader::File);
  const std::string difference = difference_of(begun, options, Reader::File);
  if (difference.empty()) return;
  throw StateMismatch(
      fmt::format("{}: the run began with other options: {}; resume it with the same ones, "
                  "or start a new run in another folder",
                  path.string(), difference));
}

void RunFolder::go_on(std::int64_t epoch_count) {
  std::error_code ignored;
  fs::remove(path_ / run_files::Summary, ignored);
  const fs::path records_path = path_ / run_files::Records;
  auto lines =
      fs::exists(records_path) ? lines_of(read_text(records_path)) : std::vector<std::string>();
  if (std::cmp_less(lines.size(), epoch_count)) {
    refuse_file(
        records_path,
        "has {} epochs, the checkpoint was written after {}; start a new run in another folder",
        lines.size(), epoch_count);
  }
  lines.resize(static_cast<std::size_t>(epoch_count));
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    try {
      records_.push_back(Json::parse(lines[i]).get<EpochRecord>());
    } catch (const Json::exception& error) {
      throw BadFile(fmt::format("{}, line {}: {}", records_path.string(), i + 1, error.what()));
    }
    text += lines[i] + '\n';
  }
  write_text(records_path, text);
  remove_event_files();
  open_records();
  for (const EpochRecord& record : records_) add_events(record);
  events_->flush();
}

void RunFolder::open_records() {
  records_file_.emplace(open_or_fail(path_ / run_files::Records, O_WRONLY | O_CREAT | O_APPEND));
  events_ = std::make_unique<EventFile>(path_, seconds_since_1970());
}

void RunFolder::add(const EpochRecord& record) {
  records_.push_back(record);
  const std::string line = Json(record).dump() + '\n';
  if (::write(records_file_->get(), line.data(), line.size()) !=
      static_cast<ssize_t>(line.size())) {
    fail(path_ / run_files::Records, "cannot be written");
  }
  add_events(record);
  events_->flush();
}

void RunFolder::add_events(const EpochRecord& record) {
  std::vector<Scalar> scalars{{"train/loss", record.train_loss},
                              {"train/learning_rate", record.lr},
                              {"train/selected", static_cast<double>(record.selected)}};
  for (std::size_t j = 0; j < record.class_counts.size() && record.selected > 0; ++j) {
    scalars.push_back(
        {fmt::format("class_fraction/{}", j),
         static_cast<double>(record.class_counts[j]) / static_cast<double>(record.selected)});
  }
  if (record.evaluation) {
    const auto add = [&](const std::string& chart, const Accuracies& accuracies) {
      scalars.push_back({chart + "/overall", accuracies.accuracy});
      scalars.push_back({chart + "/worst_group", accuracies.worst_group_accuracy});
      scalars.push_back({chart + "/average_group", accuracies.average_group_accuracy});
    };
    add("accuracy", *record.evaluation);
    if (record.evaluation->prior_adjusted) {
      add("prior_adjusted_accuracy", *record.evaluation->prior_adjusted);
    }
  }
  events_->add_scalars(scalars, record.epoch, seconds_since_1970());
}

void RunFolder::remove_event_files() const {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(path_, ignored)) {
    if (entry.path().filename().string().find(".tfevents.") != std::string::npos) {
      fs::remove(entry.path(), ignored);
    }
  }
}

void RunFolder::sync_records() {
  if (::fsync(records_file_->get()) != 0) fail(path_ / run_files::Records, "cannot be synced");
}

void RunFolder::require_in_place() const {
  struct stat held {};
  struct stat found {};
  const fs::path lock = path_ / run_files::Lock;
  if (::fstat(lock_.get(), &held) == 0 && ::stat(lock.c_str(), &found) == 0 &&
      held.st_dev == found.st_dev && held.st_ino == found.st_ino) {
    return;
  }
  refuse_file(path_,
              "the folder was moved or removed while the run trained; if it was moved, resume from "
              "its last checkpoint there");
}

void RunFolder::write_summary(const Summary& summary) {
  require_in_place();
  // The options of a run are never written again, so what a killed process left of them would stay.
  remove_staged(path_ / run_files::Options);
  write_text(path_ / run_files::Summary, to_text(summary));
}

}  // namespace rcap
