#include "study/report.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "base/text_file.hpp"
#include "core/expect_throw.hpp"
#include "rcap/core/error.hpp"
#include "study/report_data.hpp"
#include "study/study_samples.hpp"
#include "temporary_folder.hpp"

namespace rcap {
namespace {

using testing::HasSubstr;
using Json = nlohmann::ordered_json;

/// Two seeds of rcap and one of full, four epochs each.
StudyResults some_results() {
  const TemporaryFolder folder;
  write_run(folder.path() / "a", {.seed = 0, .worst = 1.0 / 3});
  write_run(folder.path() / "b", {.seed = 27});
  write_run(folder.path() / "c", {.method = "full"});
  StudyResults results = read_results(folder.path());
  results.title = "some results";
  return results;
}

const Json& run_of(const Json& data, const std::string& name) {
  for (const Json& run : data.at("runs")) {
    if (run.at("name") == name) return run;
  }
  throw InternalError("no run " + name);
}

TEST(ReportData, HoldsWhatTheRunsFound) {
  const Json data = report_data(some_results(), {});
  EXPECT_EQ(data["reference"], "rcap");
  const Json& run = run_of(data, "a");
  // Worst, average, all: a third and 0.9, so (1/3 + 0.9) / 2, to six digits.
  EXPECT_EQ(run["accuracy"].dump(), "[0.333333,0.616667,0.616667]");
  EXPECT_EQ(run["group_accuracy"].dump(), "[0.333333,0.9]");
  EXPECT_EQ(run["seed"], "0");
  EXPECT_EQ(run["beta"], 1.0);
  EXPECT_EQ(data["grids"][run["at"].get<std::size_t>()].dump(), "[0,1,2,3]");
  EXPECT_EQ(run["curves"][0].dump(), "[0.083333,0.16667,0.25,0.33333]");
  EXPECT_EQ(data["seconds"][0], "total");
  EXPECT_EQ(run["seconds"][0], 10.0);
  EXPECT_EQ(run_of(data, "c")["full"], true);
  EXPECT_FALSE(run.contains("full"));
  EXPECT_FALSE(run_of(data, "c").contains("beta"));
}

TEST(ReportData, TellsWhatRunsTookAndWhatTheirAccuraciesAreOf) {
  const TemporaryFolder folder;
  write_run(folder.path() / "a", {.forward_samples = 7, .evaluated_on = "held-out"});
  write_run(folder.path() / "old", {.counts_samples = false});
  const Json data = report_data(read_results(folder.path()), {});
  EXPECT_EQ(run_of(data, "a")["cost"].dump(), "[400,7]");
  EXPECT_FALSE(run_of(data, "old").contains("cost"));
  EXPECT_EQ(data["groups"][run_of(data, "a")["groups"].get<std::size_t>()]["on"], "held-out");
  ASSERT_EQ(data["remarks"].size(), 1U);
  EXPECT_EQ(data["remarks"][0][1], "Accuracies are of the held-out part of the training data.");
}

TEST(ReportData, HasPriorAdjustedAccuraciesOfTheRunsThatHaveThem) {
  const TemporaryFolder folder;
  write_run(folder.path() / "a", {.worst = 0.5, .adjusted_worst = 0.75});
  write_run(folder.path() / "old", {.worst = 0.5});
  const Json data = report_data(read_results(folder.path()), {});
  const Json& run = run_of(data, "a");
  // Worst, average, all; no average by the sizes of groups; then worst and average again.
  EXPECT_EQ(run["accuracy"].dump(), "[0.5,0.7,0.7,null,0.75,0.825]");
  EXPECT_EQ(run["adjusted_group_accuracy"].dump(), "[0.75,0.9]");
  EXPECT_TRUE(run["curves"][3].is_null());
  EXPECT_EQ(run["curves"][4].dump(), "[0.1875,0.375,0.5625,0.75]");
  EXPECT_EQ(run["curves"].size(), 6);
  EXPECT_EQ(run_of(data, "old")["accuracy"].size(), 3);
  EXPECT_EQ(run_of(data, "old")["curves"].size(), 3);
  EXPECT_FALSE(run_of(data, "old").contains("adjusted_group_accuracy"));
}

TEST(ReportData, StoresOnceWhatRunsShare) {
  const Json data = report_data(some_results(), {});
  EXPECT_EQ(data["groups"].size(), 1);
  EXPECT_EQ(data["groups"][0]["names"].dump(), R"(["rare","common"])");
  EXPECT_EQ(data["groups"][0]["train"].dump(), "[10,990]");
  EXPECT_EQ(data["grids"].size(), 1);
  EXPECT_EQ(data["shared_options"][0].dump(), R"(["dataset","fashion-mnist"])");
  // The others differ, or only some methods have them.
  EXPECT_EQ(data["option_names"][0], "method");
  EXPECT_EQ(data["option_names"][1], "seed");
  EXPECT_EQ(run_of(data, "b")["options"][0], "rcap");
  EXPECT_EQ(run_of(data, "b")["options"][1], "27");
  // A tenth of 1000 samples each epoch, 10 of them of the rare class.
  EXPECT_EQ(run_of(data, "b")["seen"], 100);
  EXPECT_EQ(run_of(data, "b")["counts"].dump(), "[10,90]");
}

TEST(ReportData, TellsCountsAndSamplesThatChange) {
  StudyResults results = some_results();
  for (RunResult& run : results.runs) {
    run.epochs[3].class_counts = {4, 46};
    run.epochs[3].selected = 50;
  }
  const Json data = report_data(results, {});
  EXPECT_EQ(run_of(data, "a")["counts"].dump(), "[[10,10,10,4],[90,90,90,46]]");
  EXPECT_EQ(run_of(data, "a")["seen"].dump(), "[100,200,300,350]");
}

TEST(ReportData, CountsSamplesOfEpochsThatWereNotEvaluated) {
  StudyResults results = some_results();
  for (RunResult& run : results.runs) run.epochs[1].evaluation.reset();
  results.runs[1].epochs[1].selected = 7;
  const Json data = report_data(results, {});
  EXPECT_EQ(data["runs"][0]["at"], data["runs"][1]["at"]);
  EXPECT_EQ(data["grids"][data["runs"][1]["at"].get<std::size_t>()].dump(), "[0,2,3]");
  // 100, then 7 unseen by the curve, then 100 and 100.
  EXPECT_EQ(data["runs"][1]["seen"].dump(), "[100,207,307]");
}

TEST(ReportData, LeavesOutWhatIsTooMuchAndSaysSo) {
  // Three runs of four epochs and two classes: 12 evaluations, 24 counts.
  const Json data = report_data(some_results(), {.curve_points = 6, .class_counts = 12});
  const Json& run = run_of(data, "a");
  EXPECT_EQ(data["grids"][run["at"].get<std::size_t>()].dump(), "[1,3]");
  EXPECT_EQ(run["curves"][0].dump(), "[0.16667,0.33333]");
  EXPECT_EQ(data["left_out"].size(), 2);
  EXPECT_THAT(data["left_out"][0].get<std::string>(), HasSubstr("one evaluation in 2"));
  EXPECT_EQ(report_data(some_results(), {})["left_out"].size(), 0);
}

TEST(ReportData, TellsTheWorstOfManyGroups) {
  StudyResults results = some_results();
  results.runs[0].summary.evaluation.group_accuracy = {0.9, std::nan(""), 0.2, 0.1, 0.5};
  const Json data = report_data(results, {.classes = 1, .groups = 4, .worst_groups = 2});
  EXPECT_EQ(data["runs"][0]["worst_groups"].dump(), "[[3,0.1],[2,0.2]]");
  EXPECT_FALSE(data["runs"][0].contains("group_accuracy"));
  EXPECT_FALSE(data["runs"][0].contains("counts"));
  EXPECT_THAT(data["left_out"][0].get<std::string>(), HasSubstr("3 runs with more than 1 classes"));
  EXPECT_THAT(data["left_out"][1].get<std::string>(), HasSubstr("the 2 worst"));
}

/// How often; a page of five million characters is not to be printed by a matcher.
int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

TEST(MakeReport, NeverLetsATitleEndTheScript) {
  StudyResults results = some_results();
  const std::string usual = make_report(results);
  results.title = "</script><!-- <script> \"ä\" & \xff";
  const std::string page = make_report(results);
  EXPECT_EQ(count(page, "</script"), count(usual, "</script"));
  EXPECT_EQ(count(page, "<!--"), count(usual, "<!--"));
  EXPECT_EQ(count(page, "<h1>&lt;/script>&lt;!-- &lt;script> &quot;ä&quot; &amp; "), 1);
  EXPECT_EQ(count(page, R"("title":"\u003c/script>\u003c!-- \u003cscript> \"ä\" & )"), 1);
}

TEST(MakeReport, HoldsAllItNeeds) {
  const std::string page = make_report(some_results());
  for (const char* part : {"{{title}}", "{{style}}", "{{data}}", "{{script}}", "{{plotly}}"}) {
    EXPECT_EQ(count(page, part), 0) << part;
  }
  EXPECT_EQ(count(page, "* plotly.js v"), 1);
  EXPECT_EQ(count(page, "this, (() => {"), 1);
  EXPECT_EQ(count(page, "\n})));\n"), 1);
  EXPECT_EQ(count(page, "Permission is hereby granted"), 1);
  EXPECT_EQ(count(page, "function startDrawing()"), 1);
  EXPECT_EQ(count(page, "src=\"http"), 0);
  EXPECT_TRUE(page == make_report(some_results()));
}

TEST(WriteReport, NamesAPathThatCannotBeWritten) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of<BadFile>([&] {
                (void)write_report(some_results(), folder.path() / "none" / "report.html");
              }),
              HasSubstr("none/report.html"));
  const auto path = folder.path() / "report.html";
  const std::size_t bytes = write_report(some_results(), path);
  EXPECT_EQ(bytes, read_text(path).size());
}

}  // namespace
}  // namespace rcap
