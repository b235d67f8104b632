#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rcap/core/options.hpp"
#include "train/records.hpp"

namespace rcap {

enum class RunState {
  Running,   ///< a process holds the folder
  Finished,  ///< it has a summary; a scoring run, its scores
  Stopped,   ///< neither
};

/// What can be seen from outside in the folder of a run, while it is under way or later.
struct RunProgress {
  std::filesystem::path folder;
  RunState state = RunState::Running;
  std::vector<GivenOption> options;  ///< of `options.toml`; none if that is not written yet
  std::vector<EpochRecord> epochs;
  std::optional<Summary> summary;
  double quiet_seconds =
      0;  ///< since the last epoch was written; before the first, since the start

  /// The word of an option, as in `options.toml`; empty if it is not there.
  [[nodiscard]] std::string word(std::string_view name) const;
  /// The same as a number; 0 if it is not a number.
  [[nodiscard]] std::size_t count(std::string_view name) const;
  /// How many epochs the run will have; as many as there are so far if no option says so.
  [[nodiscard]] std::size_t planned_epochs() const;
  /// Whether it makes scores for other runs, and nothing else.
  [[nodiscard]] bool makes_scores() const { return !word("make_scores").empty(); }
};

/// Whether a process is training in the folder, or running a study in it.
///
/// There is no way to test the lock without taking it. If it is free, this takes it for a few
/// microseconds, during which a run that starts there would be refused; so call it only on folders
/// in which a run was started.
[[nodiscard]] bool is_held(const std::filesystem::path& folder);

/// Whether a run was started in the folder.
[[nodiscard]] bool has_run_options(const std::filesystem::path& folder);

/// Reads what a run has written so far. An unfinished last line of `epochs.jsonl` is left out.
/// @throws BadFile  a file of the run is damaged: names the line
[[nodiscard]] RunProgress read_progress(const std::filesystem::path& folder);

}  // namespace rcap
