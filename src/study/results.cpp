#include "study/results.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/text_file.hpp"
#include "io/toml_options.hpp"
#include "rcap/core/error.hpp"
#include "train/run_folder.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* HeldOut = "held-out";  // as in a summary

/// A summary repeats the evaluation of the last epoch; if the two differ, one of them was changed.
void require_agreement(const fs::path& folder, const RunResult& run) {
  const bool agree =
      !run.epochs.empty() && run.epochs.back().evaluation &&
      run.epochs.back().evaluation->group_accuracy.size() == run.summary.group_names.size() &&
      Json(*run.epochs.back().evaluation) == Json(run.summary.evaluation);
  if (agree) return;
  throw BadFile(fmt::format("{}: {} and the last line of {} disagree", folder.string(),
                            run_files::Summary, run_files::Records));
}

RunResult read_run(const fs::path& folder) {
  RunResult run;
  run.name = folder.filename().string();
  run.summary =
      summary_from_text(folder / run_files::Summary, read_text(folder / run_files::Summary));
  run.epochs =
      epochs_from_text(folder / run_files::Records, read_text(folder / run_files::Records));
  run.options = read_toml_options(folder / run_files::Options);
  require_agreement(folder, run);
  return run;
}

/// A name for the data of a run that is in no plan. Runs whose accuracies are not measured on the
/// same samples, or whose labels are not equally right, do not belong in one row.
std::string dataset_title(const Summary& summary) {
  std::string title = summary.dataset;
  if (summary.imbalance != 1) title += fmt::format(", long-tailed {}", summary.imbalance);
  if (summary.changed_labels > 0) title += fmt::format(", {} wrong labels", summary.changed_labels);
  if (summary.evaluated_on == HeldOut) title += ", held-out part";
  if (summary.min_test_samples > 1) {
    title += fmt::format(", groups of at least {}", summary.min_test_samples);
  }
  return title;
}

std::vector<std::string> remarks_on(const Summary& summary) {
  std::vector<std::string> remarks;
  if (summary.evaluated_on == HeldOut) {
    remarks.push_back("Accuracies are of the held-out part of the training data.");
  }
  if (summary.min_test_samples > 1) {
    remarks.push_back(fmt::format("Groups with fewer than {} samples to evaluate on do not count.",
                                  summary.min_test_samples));
  }
  if (summary.changed_labels > 0) {
    remarks.push_back(
        fmt::format("{} of the training labels are wrong on purpose.", summary.changed_labels));
  }
  return remarks;
}

std::string method_title(const Summary& summary) {
  std::string title = summary.method;
  const bool is_usual = summary.class_share == "robust" || summary.class_share == "equal";
  if (!summary.class_share.empty() && !is_usual) title += " " + summary.class_share;
  if (summary.logit_adjustment != 0) {
    title += fmt::format(", logit adjustment {}", summary.logit_adjustment);
  }
  return title;
}

void add_name(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

std::size_t place_of(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
}

void sort_runs(StudyResults& results) {
  const auto key = [&](const RunResult& run) {
    return std::tuple(place_of(results.datasets, run.dataset), run.summary.pruning_rate,
                      place_of(results.methods, run.method), run.summary.beta.value_or(0),
                      run.summary.seed, run.name);
  };
  std::ranges::sort(results.runs, {}, key);
}

/// The condition of a run, and its result if it is done.
RunCondition look_at(const StudyFolder& folder, const PlannedRun& run, RunResult& result) {
  const fs::path path = folder.run(run.name);
  if (fs::exists(folder.failure(run.name))) {
    return {RunStatus::Failed, read_text(folder.failure(run.name))};
  }
  if (run.makes_scores && fs::exists(path / run_files::Scores)) return {RunStatus::Done, ""};
  if (!fs::exists(path / run_files::Options)) return {RunStatus::NotBegun, "not begun"};
  if (!fs::exists(path / run_files::Summary)) return {RunStatus::Begun, "not finished"};
  try {
    result = read_run(path);
    return {RunStatus::Done, ""};
  } catch (const BadFile& error) {
    return {RunStatus::Damaged, error.what()};
  }
}

StudyResults results_of_plan(const StudyFolder& folder, const StudyPlan& plan) {
  StudyResults results{plan.title, plan.reference, plan.datasets, plan.methods, {}, {}};
  for (const PlannedRun& planned : plan.runs) {
    if (planned.makes_scores) continue;
    RunResult run;
    const RunCondition condition = look_at(folder, planned, run);
    if (condition.status != RunStatus::Done) {
      results.missing.push_back({planned.name, condition.reason});
      continue;
    }
    run.dataset = planned.dataset;
    run.method = planned.method;
    results.runs.push_back(std::move(run));
  }
  return results;
}

std::vector<fs::path> run_folders(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  const fs::path below = fs::is_directory(folder / "runs") ? folder / "runs" : folder;
  for (const auto& entry : fs::directory_iterator(below, error)) {
    if (fs::exists(entry.path() / run_files::Options)) found.push_back(entry.path());
  }
  if (error) {
    throw BadFile(fmt::format("{}: cannot be read: {}", below.string(), error.message()));
  }
  std::ranges::sort(found);
  return found;
}

StudyResults results_of_folders(const fs::path& folder) {
  StudyResults results;
  results.title = fs::absolute(folder).lexically_normal().filename().string();
  for (const fs::path& path : run_folders(folder)) {
    try {
      if (!fs::exists(path / run_files::Summary)) {
        // A scoring run has no summary either, but is not missing from any table.
        if (fs::exists(path / run_files::Scores)) continue;
        results.missing.push_back({path.filename().string(), "not finished"});
        continue;
      }
      RunResult run = read_run(path);
      run.dataset = dataset_title(run.summary);
      run.method = method_title(run.summary);
      add_name(results.datasets, run.dataset);
      add_name(results.methods, run.method);
      results.runs.push_back(std::move(run));
    } catch (const BadFile& error) {
      results.missing.push_back({path.filename().string(), error.what()});
    }
  }
  if (place_of(results.methods, "rcap") < results.methods.size()) results.reference = "rcap";
  return results;
}

}  // namespace

std::vector<double> StudyResults::rates_of(const std::string& dataset) const {
  std::set<double> rates;
  for (const RunResult& run : runs) {
    if (run.dataset == dataset && run.has_rate()) rates.insert(run.summary.pruning_rate);
  }
  return {rates.begin(), rates.end()};
}

std::string StudyResults::remarks_on(const std::string& dataset) const {
  std::vector<std::string> remarks;
  for (const RunResult& run : runs) {
    if (run.dataset != dataset) continue;
    for (const std::string& remark : rcap::remarks_on(run.summary)) add_name(remarks, remark);
  }
  return fmt::format("{}", fmt::join(remarks, " "));
}

RunCondition condition_of(const StudyFolder& folder, const PlannedRun& run) {
  RunResult ignored;
  return look_at(folder, run, ignored);
}

StudyResults read_results(const fs::path& folder) {
  if (!fs::is_directory(folder)) {
    throw BadFile(fmt::format("{}: there is no such folder", folder.string()));
  }
  const StudyFolder study(folder);
  StudyResults results = fs::exists(study.plan()) ? results_of_plan(study, read_plan(study.plan()))
                                                  : results_of_folders(folder);
  if (results.runs.empty() && results.missing.empty()) {
    throw InvalidArgument(fmt::format(
        "{}: there is no run in it; give the folder of a study, or a folder of run folders",
        folder.string()));
  }
  sort_runs(results);
  return results;
}

}  // namespace rcap
