#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "train/options.hpp"

namespace rcap {

/// One run of a study.
struct PlannedRun {
  std::string name;     ///< of its folder: "lt100-rcap-mass-rate-0.9-seed-27"
  std::string dataset;  ///< the name of its data in tables
  std::string method;   ///< the name of its method in tables; "scoring" for a scoring run
  TrainOptions options;
  std::string scores_from;    ///< name of the scoring run it waits for; empty: none
  bool makes_scores = false;  ///< a scoring run: writes scores, but no summary
};

/// What to run, and the names in tables: `study.json`.
struct StudyPlan {
  std::string title;
  std::string reference;  ///< the method that others are compared with; may be empty
  std::vector<std::string> datasets;
  std::vector<std::string> methods;
  std::vector<PlannedRun> runs;  ///< scoring runs before those that wait for them
};

/// @throws BadFile  the file cannot be read, or is not a plan that `write_plan` wrote
[[nodiscard]] StudyPlan read_plan(const std::filesystem::path& path);
void write_plan(const std::filesystem::path& path, const StudyPlan& plan);

/// A name as part of a folder's name: lower-case letters, digits, dots and dashes.
[[nodiscard]] std::string as_file_name(const std::string& name);

/// Where the files of a study are.
class StudyFolder {
 public:
  explicit StudyFolder(std::filesystem::path path) : path_(std::move(path)) {}

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] std::filesystem::path plan() const { return path_ / "study.json"; }
  [[nodiscard]] std::filesystem::path runs() const { return path_ / "runs"; }
  [[nodiscard]] std::filesystem::path run(const std::string& name) const { return runs() / name; }
  /// What a run printed.
  [[nodiscard]] std::filesystem::path log(const std::string& name) const {
    return path_ / "logs" / (name + ".log");
  }
  /// Why a run failed; the file exists only for failed runs.
  [[nodiscard]] std::filesystem::path failure(const std::string& name) const {
    return path_ / "failed" / (name + ".txt");
  }

 private:
  std::filesystem::path path_;
};

}  // namespace rcap
