#include "study/results.hpp"

#include <fstream>

#include <gmock/gmock.h>

#include "base/text_file.hpp"
#include "core/expect_throw.hpp"
#include "rcap/core/error.hpp"
#include "study/study_samples.hpp"
#include "temporary_folder.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

namespace fs = std::filesystem;

TEST(ReadResults, NamesRunsThatNoPlanNames) {
  const TemporaryFolder folder;
  write_run(folder.path() / "b", {.class_share = "mass", .worst = 0.25});
  write_run(folder.path() / "a", {.method = "rs2", .imbalance = 1});
  const StudyResults results = read_results(folder.path());
  ASSERT_THAT(results.runs, SizeIs(2));
  EXPECT_EQ(results.runs[0].dataset, "fashion-mnist");
  EXPECT_EQ(results.runs[0].method, "rs2");
  EXPECT_EQ(results.runs[1].dataset, "fashion-mnist, long-tailed 100");
  EXPECT_EQ(results.runs[1].method, "rcap mass");
  EXPECT_EQ(results.runs[1].summary.evaluation.worst_group_accuracy, 0.25);
  EXPECT_THAT(results.runs[1].epochs, SizeIs(4));
  EXPECT_EQ(results.runs[1].options[0].name, "dataset");
  EXPECT_EQ(results.runs[1].options[0].word, "fashion-mnist");
}

TEST(ReadResults, NamesTheClassShareUnlessItIsTheUsualOne) {
  const TemporaryFolder folder;
  write_run(folder.path() / "a", {.class_share = "robust"});
  write_run(folder.path() / "b", {.class_share = "group-dro"});
  write_run(folder.path() / "c", {.method = "balanced", .class_share = "equal"});
  write_run(folder.path() / "d", {.method = "balanced", .class_share = "power"});
  std::vector<std::string> names;
  for (const RunResult& run : read_results(folder.path()).runs) names.push_back(run.method);
  EXPECT_THAT(
      names, testing::UnorderedElementsAre("rcap", "rcap group-dro", "balanced", "balanced power"));
}

TEST(ReadResults, KeepsAccuraciesOfDifferentSamplesApart) {
  const TemporaryFolder folder;
  write_run(folder.path() / "a", {.imbalance = 1});
  write_run(folder.path() / "b", {.imbalance = 1, .evaluated_on = "held-out"});
  write_run(folder.path() / "c", {.imbalance = 1, .min_test_samples = 5});
  write_run(folder.path() / "d", {.imbalance = 1, .changed_labels = 7});
  EXPECT_THAT(read_results(folder.path()).datasets,
              ElementsAre("fashion-mnist", "fashion-mnist, held-out part",
                          "fashion-mnist, groups of at least 5", "fashion-mnist, 7 wrong labels"));
}

TEST(ReadResults, KeepsRunsWithAndWithoutLogitAdjustmentApart) {
  const TemporaryFolder folder;
  write_run(folder.path() / "a", {});
  write_run(folder.path() / "b", {.logit_adjustment = 1});
  write_run(folder.path() / "c", {.class_share = "mass", .logit_adjustment = 0.5});
  EXPECT_THAT(read_results(folder.path()).methods,
              ElementsAre("rcap", "rcap, logit adjustment 1", "rcap mass, logit adjustment 0.5"));
}

TEST(ReadResults, ListsUnfinishedAndDamagedRunsWithTheReason) {
  const TemporaryFolder folder;
  write_run(folder.path() / "good", {});
  write_run(folder.path() / "cut", {});
  write_run(folder.path() / "edited", {});
  write_run(folder.path() / "open", {});
  const fs::path cut = folder.path() / "cut" / "summary.json";
  fs::resize_file(cut, fs::file_size(cut) / 2);
  const fs::path edited = folder.path() / "edited" / "summary.json";
  std::string text = read_text(edited);
  text.replace(text.find("\"worst_group_accuracy\": 0.5"), 27, "\"worst_group_accuracy\": 0.9");
  write_text(edited, text);
  fs::remove(folder.path() / "open" / "summary.json");
  const StudyResults results = read_results(folder.path());
  EXPECT_THAT(results.runs, SizeIs(1));
  ASSERT_THAT(results.missing, SizeIs(3));
  EXPECT_THAT(results.missing[0].reason, HasSubstr("cut off"));
  EXPECT_THAT(results.missing[1].reason, HasSubstr("was changed after the run wrote it"));
  EXPECT_EQ(results.missing[2].reason, "not finished");
}

TEST(ReadResults, NoticesEpochsThatDisagreeWithTheSummary) {
  const TemporaryFolder folder;
  write_run(folder.path() / "a", {});
  const fs::path epochs = folder.path() / "a" / "epochs.jsonl";
  auto lines = lines_of(read_text(epochs));
  write_text(epochs, lines[0] + "\n" + lines[1] + "\n");
  const StudyResults results = read_results(folder.path());
  EXPECT_THAT(results.runs, IsEmpty());
  ASSERT_THAT(results.missing, SizeIs(1));
  EXPECT_THAT(results.missing[0].reason, HasSubstr("disagree"));
}

TEST(ReadResults, TakesNamesAndOrderFromThePlan) {
  const TemporaryFolder folder;
  StudyPlan plan{"A title", "ours", {"second", "first"}, {"theirs", "ours"}, {}};
  for (const char* method : {"ours", "theirs"}) {
    for (const char* dataset : {"first", "second"}) {
      PlannedRun run;
      run.name = std::string(dataset) + method;
      run.dataset = dataset;
      run.method = method;
      plan.runs.push_back(run);
      write_run(folder.path() / "runs" / run.name, {});
    }
  }
  PlannedRun waiting;
  waiting.name = "waiting";
  plan.runs.push_back(waiting);
  write_plan(folder.path() / "study.json", plan);
  const StudyResults results = read_results(folder.path());
  std::vector<std::string> names;
  for (const RunResult& run : results.runs) names.push_back(run.dataset + " " + run.method);
  EXPECT_THAT(names, ElementsAre("second theirs", "second ours", "first theirs", "first ours"));
  EXPECT_EQ(results.title, "A title");
  EXPECT_EQ(results.reference, "ours");
  ASSERT_THAT(results.missing, SizeIs(1));
  EXPECT_EQ(results.missing[0].reason, "not begun");
}

TEST(ReadResults, RefusesAFolderWithoutRuns) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of<InvalidArgument>([&] { (void)read_results(folder.path()); }),
              HasSubstr("there is no run in it"));
  EXPECT_THAT(message_of<BadFile>([&] { (void)read_results(folder.path() / "no"); }),
              HasSubstr("there is no such folder"));
}

TEST(StudyResults, KnowsTheRatesOfADataset) {
  const TemporaryFolder folder;
  write_run(folder.path() / "a", {.pruning_rate = 0.9});
  write_run(folder.path() / "b", {.pruning_rate = 0.5});
  write_run(folder.path() / "c", {.method = "full"});
  const StudyResults results = read_results(folder.path());
  EXPECT_THAT(results.rates_of("fashion-mnist, long-tailed 100"), ElementsAre(0.5, 0.9));
}

}  // namespace
}  // namespace rcap
