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

/// What the folder of a run tells an onlooker, while the run is under way or later.
struct RunProgress {
  std::filesystem::path folder;
  RunState state = RunState::Running;
  std::vector<GivenOption> options;  ///< of `options.toml`; none where that is not written yet
  std::vector<EpochRecord> epochs;
  std::optional<Summary> summary;
  double quiet_seconds =
      0;  ///< since the last epoch was written; before the first, since the start

  /// The word of an option, as `options.toml` has it; empty where it has none.
  [[nodiscard]] std::string word(std::string_view name) const;
  /// The same as a number, 0 where it is none.
  [[nodiscard]] std::size_t count(std::string_view name) const;
  /// How many epochs the run will have; as many as there are where no option says so.
  [[nodiscard]] std::size_t planned_epochs() const;
  /// Whether it makes scores for other runs, and nothing else.
  [[nodiscard]] bool makes_scores() const { return !word("make_scores").empty(); }
};

/// Whether a process trains into the folder, or studies in it.
///
/// There is no way to look at the lock without taking it. Where it is free, this takes it for a
/// few microseconds, in which a run that begins there would be refused; so ask only where a run
/// was begun.
[[nodiscard]] bool is_held(const std::filesystem::path& folder);

/// Whether a run was begun in the folder.
[[nodiscard]] bool has_run_options(const std::filesystem::path& folder);

/// Reads what a run has left so far. A last line of `epochs.jsonl` that is being written is left
/// out.
/// @throws BadFile  a file of the run is damaged: names the line
[[nodiscard]] RunProgress read_progress(const std::filesystem::path& folder);

}  // namespace rcap
