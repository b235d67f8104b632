#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file_handle.hpp"
#include "io/event_file.hpp"
#include "train/options.hpp"
#include "train/records.hpp"

namespace rcap {

/// What the files of a run are called.
namespace run_files {
inline constexpr const char* Options = "options.toml";
inline constexpr const char* Records = "epochs.jsonl";
inline constexpr const char* Summary = "summary.json";
inline constexpr const char* Scores = "scores.safetensors";
inline constexpr const char* Checkpoints = "checkpoint";
inline constexpr const char* Lock = "lock";
}  // namespace run_files

/// The checkpoints in a folder of them, oldest first; none where the folder is not there.
/// @throws BadFile  the folder cannot be listed: what is not seen must not be taken for missing
[[nodiscard]] std::vector<std::filesystem::path> checkpoints_in(
    const std::filesystem::path& folder);

/// @throws InvalidArgument  no run was begun in the folder, so that none can be resumed
void require_begun_run(const std::filesystem::path& folder);

/// The folder of one run: options.toml, epochs.jsonl, summary.json, checkpoint/ and event
/// files. One process at a time holds it.
class RunFolder {
 public:
  /// Makes the folder if need be and locks it.
  /// @throws InvalidArgument  another process holds it
  /// @throws BadFile          it cannot be made or written to
  explicit RunFolder(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] std::filesystem::path checkpoints() const { return path_ / run_files::Checkpoints; }
  /// Scores that the run's own scoring run made.
  [[nodiscard]] std::filesystem::path scores() const { return path_ / run_files::Scores; }

  /// Whether a run was begun in it.
  [[nodiscard]] bool has_options() const;
  /// Whether it tells of epochs that were trained.
  [[nodiscard]] bool has_results() const;
  /// Whether it holds something that took time: a checkpoint, scores or results.
  [[nodiscard]] bool has_run() const;

  /// Begins a new run where `has_run` is false; what a run left that came to nothing is removed.
  void begin(const TrainOptions& options);
  /// @throws StateMismatch  the run has other options; names each with both values
  void require_same_options(const TrainOptions& options) const;
  /// Goes on with a run after the first `epoch_count` of its epochs; later records are removed.
  /// @throws BadFile  a file of the run is damaged
  void go_on(std::int64_t epoch_count);

  /// Adds a line to epochs.jsonl and points to the event file.
  void add(const EpochRecord& record);
  /// Makes sure that all lines added so far survive a crash of the machine.
  void sync_records();
  void write_summary(const Summary& summary);
  /// To be called before anything is written by name.
  /// @throws BadFile  the folder was moved or removed since it was opened
  void require_in_place() const;

  /// All records of the run so far.
  [[nodiscard]] std::span<const EpochRecord> records() const noexcept { return records_; }

 private:
  void open_records();
  void add_events(const EpochRecord& record);
  void remove_event_files() const;

  std::filesystem::path path_;
  FileHandle lock_;  ///< the file stays when it is closed: others may be waiting on it
  std::optional<FileHandle> records_file_;
  std::unique_ptr<EventFile> events_;
  std::vector<EpochRecord> records_;
};

}  // namespace rcap
