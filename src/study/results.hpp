#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "study/study_folder.hpp"
#include "train/options.hpp"
#include "train/records.hpp"

namespace rcap {

/// One finished run, read from its folder.
struct RunResult {
  std::string name;     ///< of its folder below `runs`
  std::string dataset;  ///< the name of its data in tables, e.g. "fashion-mnist, long-tailed 100"
  std::string method;   ///< the name of its method in tables, e.g. "rcap mass"
  Summary summary;
  std::vector<EpochRecord> epochs;
  std::vector<GivenOption> options;  ///< of `options.toml`

  /// Whether it trained on everything.
  [[nodiscard]] bool is_full() const { return summary.method == "full"; }
  /// Otherwise it stands beside the runs of every rate, and is not ranked among them.
  [[nodiscard]] bool has_rate() const { return summary.follows_rate; }
};
using Runs = std::vector<const RunResult*>;

/// A run without a result, and why.
struct MissingRun {
  std::string name;
  std::string reason;  ///< "not begun", "not finished", its error, what is wrong with its files
};

/// Everything that tables, figures and the report are made from.
struct StudyResults {
  std::string title;
  std::string reference;              ///< the method that others are compared with; may be empty
  std::vector<std::string> datasets;  ///< in the order of tables
  std::vector<std::string> methods;   ///< in the order of tables, including "full" if it was run
  std::vector<RunResult> runs;        ///< by data set, rate, method, beta, seed
  std::vector<MissingRun> missing;

  /// Pruning rates of the runs on a data set, ascending; without those that have no rate.
  [[nodiscard]] std::vector<double> rates_of(const std::string& dataset) const;

  /// What must be said about the accuracies on a data set, in sentences: that they are not measured
  /// on test samples, that small groups do not count, that labels are wrong. Mostly empty.
  [[nodiscard]] std::string remarks_on(const std::string& dataset) const;
};

enum class RunStatus {
  NotBegun,
  Begun,
  Done,
  Failed,
  Damaged,  ///< finished, but its files are cut off or were changed by hand
};

struct RunCondition {
  RunStatus status = RunStatus::NotBegun;
  std::string reason;  ///< why it is not done, in words
};

/// The condition of a run of a study.
[[nodiscard]] RunCondition condition_of(const StudyFolder& folder, const PlannedRun& run);

/// Reads what the runs of a study have written so far.
///
/// @param folder  of `rcap study`, or any folder with run folders of `rcap train` in it. Names
///                and order come from `study.json` if it exists, otherwise from the runs.
/// @throws BadFile          the folder, or its `study.json`, cannot be read
/// @throws InvalidArgument  there is no run in it
[[nodiscard]] StudyResults read_results(const std::filesystem::path& folder);

}  // namespace rcap
