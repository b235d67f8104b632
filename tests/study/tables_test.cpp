#include "study/tables.hpp"

#include <fmt/format.h>
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
using testing::Not;
using testing::SizeIs;

/// Two seeds of four methods at one rate, and everything.
class Tables : public testing::Test {
 protected:
  Tables() {
    add({.method = "full", .seed = 0, .worst = 0.60, .train_seconds = 100});
    add({.method = "full", .seed = 27, .worst = 0.70, .train_seconds = 100});
    add({.seed = 0, .worst = 0.50, .train_seconds = 10, .forward_samples = 1000});
    add({.seed = 27, .worst = 0.54, .train_seconds = 30, .forward_samples = 1000});
    add({.method = "rs2", .seed = 0, .worst = 0.40});
    add({.method = "rs2", .seed = 27, .worst = 0.40});
    add({.method = "ccs",
         .seed = 0,
         .worst = 0.10,
         .train_seconds = 5,
         .scoring_seconds = 95,
         .scoring_samples = 4000});
    results_ = read_results(folder_.path());
    results_.methods = {"full", "rcap", "rs2", "ccs"};
  }

  void add(const SampleRun& run) {
    write_run(folder_ / (run.method + std::to_string(run.seed)), run);
  }

  TemporaryFolder folder_;
  StudyResults results_;
};

TEST(MeanAndDeviationOf, IsThePopulationDeviation) {
  // 2, 4, 6: squares 4 + 0 + 4 over three.
  const MeanAndDeviation found = mean_and_deviation_of({2, 4, 6});
  EXPECT_EQ(found.count, 3);
  EXPECT_DOUBLE_EQ(found.mean, 4);
  EXPECT_DOUBLE_EQ(found.deviation, std::sqrt(8.0 / 3));
  EXPECT_THROW((void)mean_and_deviation_of({}), InvalidArgument);
}

TEST_F(Tables, TellMeanAndDeviationOverSeeds) {
  const Table table = accuracy_table(results_, Metric::Worst);
  EXPECT_THAT(table.columns, ElementsAre("full", "rcap", "rs2", "ccs"));
  ASSERT_THAT(table.rows, SizeIs(1));
  const auto& cells = table.rows[0].cells;
  EXPECT_EQ(cells[0]->text, "65.0 ± 5.0");
  EXPECT_EQ(cells[1]->text, "52.0 ± 2.0");
  EXPECT_EQ(cells[3]->text, "10.0 ± 0.0 (n = 1)");
  // The other class has 90 % everywhere: (52 + 90) / 2.
  EXPECT_EQ(accuracy_table(results_, Metric::Average).rows[0].cells[1]->text, "71.0 ± 1.0");
}

TEST_F(Tables, TellPriorAdjustedAccuraciesOfTheRunsThatHaveThem) {
  EXPECT_THAT(accuracy_table(results_, Metric::Worst, Answers::PriorAdjusted).rows, IsEmpty());
  for (RunResult& run : results_.runs) {
    if (run.method != "rcap" && run.name != "rs20") continue;
    Accuracies adjusted = run.summary.evaluation;
    adjusted.worst_group_accuracy = run.name == "rcap0" ? 0.7 : run.name == "rcap27" ? 0.8 : 0.6;
    adjusted.average_group_accuracy = (adjusted.worst_group_accuracy + 0.9) / 2;
    run.summary.evaluation.prior_adjusted = adjusted;
  }
  const Table table = accuracy_table(results_, Metric::Worst, Answers::PriorAdjusted);
  EXPECT_EQ(table.title, "Prior-adjusted accuracy of the worst group, %");
  EXPECT_THAT(table.caption, HasSubstr("part of what was trained is subtracted"));
  ASSERT_THAT(table.rows, SizeIs(1));
  const auto& cells = table.rows[0].cells;
  EXPECT_FALSE(cells[0]);
  EXPECT_EQ(cells[1]->text, "75.0 ± 5.0");
  EXPECT_EQ(cells[1]->rank, 1);
  EXPECT_EQ(cells[2]->text, "60.0 ± 0.0 (n = 1)");
  EXPECT_FALSE(cells[3]);
  // The plain table is as before; (75 + 90) / 2.
  EXPECT_EQ(accuracy_table(results_, Metric::Worst).rows[0].cells[1]->text, "52.0 ± 2.0");
  EXPECT_EQ(
      accuracy_table(results_, Metric::Average, Answers::PriorAdjusted).rows[0].cells[1]->text,
      "82.5 ± 2.5");
  write_tables(results_, folder_.path());
  EXPECT_THAT(read_text(folder_ / "table_worst_group_adjusted.csv"),
              HasSubstr("\"fashion-mnist, long-tailed 100\",0.9,rs2,1,60,0,"));
  EXPECT_THAT(read_text(folder_ / "tables.md"),
              HasSubstr("## Prior-adjusted accuracy of the average"));
}

TEST_F(Tables, RankPrunedMethodsOnly) {
  const Table table = accuracy_table(results_, Metric::Worst);
  std::vector<int> ranks;
  for (const auto& cell : table.rows[0].cells) ranks.push_back(cell->rank);
  EXPECT_THAT(ranks, ElementsAre(0, 1, 2, 0));
}

TEST_F(Tables, ShowAMethodWithoutARateInEveryRowAndDoNotRankIt) {
  add({.method = "ies", .follows_rate = false, .seed = 0, .worst = 0.8});
  add({.method = "rs2", .pruning_rate = 0.5, .seed = 100, .worst = 0.45});
  add({.method = "rcap", .pruning_rate = 0.5, .seed = 100, .worst = 0.55});
  results_ = read_results(folder_.path());
  results_.methods = {"full", "ies", "rcap", "rs2", "ccs"};
  const Table table = accuracy_table(results_, Metric::Worst);
  ASSERT_THAT(table.rows, SizeIs(2));
  for (const Table::Row& row : table.rows) {
    EXPECT_EQ(row.cells[1]->text, "80.0 ± 0.0 (n = 1)");
    EXPECT_EQ(row.cells[1]->rank, 0);
    EXPECT_EQ(row.cells[2]->rank, 1);
  }
  EXPECT_THAT(table.caption, HasSubstr("full trains on everything, ies on what its own rule leaves "
                                       "at any rate: not ranked."));
}

TEST_F(Tables, GiveEqualMethodsTheSameRank) {
  results_.runs.erase(results_.runs.begin() + 6);  // ccs
  for (RunResult& run : results_.runs) {
    if (run.method != "full") run.summary.evaluation.worst_group_accuracy = 0.3;
  }
  const Table table = accuracy_table(results_, Metric::Worst);
  // Where all are equal none is the best.
  EXPECT_EQ(table.rows[0].cells[1]->rank, 0);
  results_.runs[0].method = "ccs";
  results_.runs[0].summary.method = "ccs";
  results_.runs[0].summary.follows_rate = true;
  results_.runs[0].summary.pruning_rate = 0.9;
  results_.runs[0].summary.evaluation.worst_group_accuracy = 0.1;
  const Table again = accuracy_table(results_, Metric::Worst);
  EXPECT_EQ(again.rows[0].cells[1]->rank, 1);
  EXPECT_EQ(again.rows[0].cells[2]->rank, 1);
  EXPECT_EQ(again.rows[0].cells[3]->rank, 2);
}

TEST_F(Tables, CompareRunsOfTheSameSeed) {
  const Table table = difference_table(results_, Metric::Worst);
  EXPECT_THAT(table.columns, ElementsAre("full", "rs2", "ccs"));
  const auto& cells = table.rows[0].cells;
  // 60 - 50 and 70 - 54.
  EXPECT_EQ(cells[0]->text, "+13.0 ± 3.0");
  EXPECT_EQ(cells[1]->text, "-12.0 ± 2.0");
  // ccs has seed 0 only.
  EXPECT_EQ(cells[2]->text, "-40.0 ± 0.0 (n = 1)");
  results_.reference = "";
  EXPECT_THAT(difference_table(results_, Metric::Worst).rows, IsEmpty());
}

TEST_F(Tables, TellCostWithScoring) {
  const Table table = cost_table(results_);
  const auto& cells = table.rows[0].cells;
  EXPECT_EQ(cells[0]->text, "100 s");
  EXPECT_EQ(cells[1]->text, "20.0 s (5.0x)");
  EXPECT_EQ(cells[3]->text, "100 s (1.0x), scoring 95.0 s");
}

TEST_F(Tables, TellWhatTheGroupsAre) {
  EXPECT_THAT(accuracy_table(results_, Metric::Worst).caption,
              HasSubstr("the groups are its 2 classes; samples to evaluate on: 100, 200; to train "
                        "on: 10, 990"));
}

TEST_F(Tables, TellWhichSamplesAccuraciesAreOf) {
  const char* const held_out = "Accuracies are of the held-out part of the training data.";
  EXPECT_THAT(accuracy_table(results_, Metric::Worst).caption, Not(HasSubstr(held_out)));
  for (RunResult& run : results_.runs) {
    run.summary.evaluated_on = "held-out";
    run.summary.min_test_samples = 5;
    run.summary.changed_labels = 70;
  }
  for (const Table& table :
       {accuracy_table(results_, Metric::Worst), difference_table(results_, Metric::Average)}) {
    EXPECT_THAT(table.caption, HasSubstr(held_out));
    EXPECT_THAT(table.caption,
                HasSubstr("Groups with fewer than 5 samples to evaluate on do not count."));
    EXPECT_THAT(table.caption, HasSubstr("70 of the training labels are wrong on purpose."));
  }
}

TEST_F(Tables, HaveAColumnForEachBeta) {
  add({.beta = 2, .seed = 5});
  add({.beta = 0.5, .seed = 6});
  const StudyResults results = read_results(folder_.path());
  const Table table = accuracy_table(results, Metric::Worst);
  EXPECT_THAT(table.columns,
              ElementsAre("ccs", "full", "rcap, beta 0.5", "rcap, beta 1", "rcap, beta 2", "rs2"));
  // Compared with the beta nearest to 1.
  EXPECT_THAT(difference_table(results, Metric::Worst).columns,
              ElementsAre("ccs", "full", "rcap, beta 0.5", "rcap, beta 2", "rs2"));
}

TEST_F(Tables, AreWrittenInThreeNotations) {
  const Table table = accuracy_table(results_, Metric::Worst);
  const std::string markdown = to_markdown(table);
  EXPECT_THAT(markdown, HasSubstr("| data set | pruned | full | rcap | rs2 | ccs |\n"));
  EXPECT_THAT(markdown,
              HasSubstr("| fashion-mnist, long-tailed 100 | 90 % | 65.0 ± 5.0 | **52.0 ± 2.0** | "
                        "<u>40.0 ± 0.0</u> | 10.0 ± 0.0 (n = 1) |\n"));
  const std::string latex = to_latex(table);
  EXPECT_THAT(latex, HasSubstr("fashion-mnist, long-tailed 100 & 90 \\% & 65.0 $\\pm$ 5.0 & "
                               "\\textbf{52.0 $\\pm$ 2.0} & \\underline{40.0 $\\pm$ 0.0} & "));
  const std::string csv = to_csv(table);
  EXPECT_THAT(csv, HasSubstr("data_set,pruning_rate,method,n,mean,deviation,trained_samples,"
                             "forward_samples\n"));
  EXPECT_THAT(csv, HasSubstr("\"fashion-mnist, long-tailed 100\",0.9,rs2,2,40,0,400,0\n"));
}

TEST_F(Tables, TellTheSamplesThatEachMethodTook) {
  // 4 epochs of 1000 samples or of a tenth; ccs scored on everything first, rcap looked once.
  for (const Table& table : {accuracy_table(results_, Metric::Worst), cost_table(results_)}) {
    EXPECT_THAT(to_markdown(table),
                HasSubstr("| samples trained on | | 4,000 | 400 | 400 | 4,400 |\n"
                          "| samples forward only | | 0 | 1,000 | 0 | 0 |\n"));
    EXPECT_THAT(to_latex(table), HasSubstr("samples trained on & & 4,000 & 400 & 400 & 4,400 \\\\\n"
                                           "samples forward only & & 0 & 1,000 & 0 & 0 \\\\\n"));
    EXPECT_THAT(to_markdown(table), HasSubstr("Evaluations do not count."));
  }
  // The reference has no column among the differences.
  EXPECT_THAT(to_markdown(difference_table(results_, Metric::Worst)),
              HasSubstr("| samples trained on | | 4,000 | 400 | 4,400 |\n"));
}

TEST_F(Tables, HaveADashForSamplesThatAnOlderRunDidNotCount) {
  for (RunResult& run : results_.runs) {
    if (run.method == "rs2" && run.summary.seed == 27) run.summary.cost.reset();
  }
  const Table table = accuracy_table(results_, Metric::Worst);
  EXPECT_THAT(to_markdown(table),
              HasSubstr("| samples trained on | | 4,000 | 400 | - | 4,400 |\n"));
  EXPECT_THAT(to_csv(table), HasSubstr(",rs2,2,40,0,,\n"));
}

TEST_F(Tables, HaveALineForEachMethodIfTheyAreMany) {
  for (int i = 0; i < 13; ++i) {
    const std::string method = fmt::format("method_{}", i);
    add({.method = method, .worst = 0.3, .forward_samples = 1000});
    results_.methods.push_back(method);
  }
  results_.runs = read_results(folder_.path()).runs;
  const Table table = accuracy_table(results_, Metric::Worst);
  EXPECT_THAT(to_markdown(table), HasSubstr("| method | fashion-mnist, long-tailed 100, 90 % |\n"
                                            "| --- | ---: |\n"
                                            "| full | 65.0 ± 5.0 |\n"
                                            "| rcap | **52.0 ± 2.0** |\n"));
  EXPECT_THAT(to_markdown(table), Not(HasSubstr("samples trained on")));
  EXPECT_THAT(to_latex(table), HasSubstr("\\begin{tabular}{lr}\n\\toprule\n"
                                         "method & fashion-mnist, long-tailed 100, 90 \\% \\\\\n"));
  EXPECT_THAT(to_latex(table), HasSubstr("\nmethod\\_12 & 30.0 $\\pm$ 0.0 (n = 1) \\\\\n"));
  write_tables(results_, folder_.path());
  EXPECT_THAT(read_text(folder_ / "table_samples.md"), HasSubstr("| full | 4,000 |\n"
                                                                 "| rcap | 400 + 1,000 |\n"));
}

TEST(SamplesText, SeparatesThousands) {
  EXPECT_EQ(samples_text(0), "0");
  EXPECT_EQ(samples_text(999.4), "999");
  EXPECT_EQ(samples_text(1000), "1,000");
  EXPECT_EQ(samples_text(1234567), "1,234,567");
  EXPECT_EQ(samples_text(std::nullopt), "-");
}

TEST_F(Tables, EscapeNames) {
  results_.methods[1] = "50% & |a_b|";
  for (RunResult& run : results_.runs) {
    if (run.method == "rcap") run.method = results_.methods[1];
  }
  const Table table = accuracy_table(results_, Metric::Worst);
  EXPECT_THAT(to_markdown(table), HasSubstr("| 50% & \\|a_b\\| |"));
  EXPECT_THAT(to_latex(table), HasSubstr("& 50\\% \\& |a\\_b| &"));
}

TEST_F(Tables, AreFilesTogetherAndEach) {
  results_.missing.push_back({"lost", "its disk was full"});
  write_tables(results_, folder_.path());
  for (const char* name : {"worst_group", "average_group", "worst_group_difference",
                           "average_group_difference", "cost"}) {
    for (const char* ending : {".md", ".tex", ".csv"}) {
      EXPECT_TRUE(std::filesystem::exists(folder_ / ("table_" + std::string(name) + ending)));
    }
  }
  const std::string all = read_text(folder_ / "tables.md");
  EXPECT_THAT(all, HasSubstr("## Cost of a run"));
  EXPECT_THAT(all, HasSubstr("- lost: its disk was full\n"));
}

}  // namespace
}  // namespace rcap
