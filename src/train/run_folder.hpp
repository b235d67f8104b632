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

/// The names of a run's files.
namespace run_files {
inline constexpr const char* Options = "options.toml";
inline constexpr const char* Records = "epochs.jsonl";
inline constexpr const char* Summary = "summary.json";
inline constexpr const char* Scores = "scores.safetensors";
inline constexpr const char* Checkpoints = "checkpoint";
inline constexpr const char* Lock = "lock";
}  // namespace run_files

/// The checkpoints in a folder of them, oldest first; none if the folder does not exist.
/// @throws BadFile  the folder cannot be listed: checkpoints in it must not be taken for missing
[[nodiscard]] std::vector<std::filesystem::path> checkpoints_in(
    const std::filesystem::path& folder);

/// @throws InvalidArgument  no run was started in the folder, so none can be resumed
void require_begun_run(const std::filesystem::path& folder);

/// The folder of one run: options.toml, epochs.jsonl, summary.json, checkpoint/ and event
/// files. Only one process at a time can hold it.
class RunFolder {
 public:
  /// Creates the folder if needed and locks it.
  /// @throws InvalidArgument  another process holds it
  /// @throws BadFile          it cannot be created or written to
  explicit RunFolder(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] std::filesystem::path checkpoints() const { return path_ / run_files::Checkpoints; }
  /// The scores from the run's own scoring run.
  [[nodiscard]] std::filesystem::path scores() const { return path_ / run_files::Scores; }

  /// Whether a run was started in it.
  [[nodiscard]] bool has_options() const;
  /// Whether it has records of trained epochs.
  [[nodiscard]] bool has_results() const;
  /// Whether it holds something that took time: a checkpoint, scores or results.
  [[nodiscard]] bool has_run() const;

  /// Starts a new run; `has_run` must be false. Removes what a run that came to nothing left
  /// behind.
  void begin(const TrainOptions& options);
  /// @throws StateMismatch  the run has other options; names each with both values
  void require_same_options(const TrainOptions& options) const;
  /// Resumes a run after the first `epoch_count` of its epochs; later records are removed.
  /// @throws BadFile  a file of the run is damaged
  void go_on(std::int64_t epoch_count);

  /// Adds a line to epochs.jsonl and points to the event file.
  void add(const EpochRecord& record);
  /// Makes sure that all lines added so far survive a crash of the machine.
  void sync_records();
  void write_summary(const Summary& summary);
  /// Call it before writing anything by name.
  /// @throws BadFile  the folder was moved or removed since it was opened
  void require_in_place() const;

  /// All records of the run so far.
  [[nodiscard]] std::span<const EpochRecord> records() const noexcept { return records_; }

 private:
  void open_records();
  void add_events(const EpochRecord& record);
  void remove_event_files() const;

  std::filesystem::path path_;
  FileHandle lock_;  ///< the file stays after it is closed: others may be waiting for it
  std::optional<FileHandle> records_file_;
  std::unique_ptr<EventFile> events_;
  std::vector<EpochRecord> records_;
};

}  // namespace rcap
