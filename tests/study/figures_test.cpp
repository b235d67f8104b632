#include "study/figures.hpp"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>

#include "base/text_file.hpp"
#include "study/pareto_front.hpp"
#include "study/study_samples.hpp"
#include "temporary_folder.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

namespace fs = std::filesystem;

/// The results of made-up runs.
StudyResults results_of(const std::vector<SampleRun>& runs) {
  const TemporaryFolder folder;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    write_run(folder.path() / ("run" + std::to_string(i)), runs[i]);
  }
  return read_results(folder.path());
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(ParetoFront, KeepsWhatNothingElseBeats) {
  // By cost: (1, 10) leads; (2, 5) is beaten by it; (3, 30) leads; (3, 20) costs as much and is
  // worse; (4, 30) is no better than (3, 30); (9, 31) leads.
  const std::vector<CostAndValue> points{{9, 31}, {2, 5}, {3, 20}, {1, 10}, {4, 30}, {3, 30}};
  EXPECT_THAT(pareto_front(points), ElementsAre(3, 5, 0));
}

TEST(ParetoFront, TakesTheFirstOfEqualPointsAndNoNaN) {
  EXPECT_THAT(pareto_front({{1, 1}, {1, 1}, {std::nan(""), 9}, {0, std::nan("")}}), ElementsAre(0));
  EXPECT_THAT(pareto_front({}), IsEmpty());
}

TEST(BetaFigure, NeedsTwoBetas) {
  EXPECT_FALSE(beta_figure(results_of({{.beta = 1}, {.method = "rs2"}})));
  const auto figure = beta_figure(results_of({{.beta = 1}, {.beta = 2}}));
  ASSERT_TRUE(figure);
  EXPECT_THAT(*figure, HasSubstr(">90 % pruned<"));
}

TEST(BetaFigure, HasALineForEachRateAndRule) {
  const auto figure = beta_figure(results_of({{.pruning_rate = 0.5, .beta = 1},
                                              {.pruning_rate = 0.5, .beta = 2},
                                              {.class_share = "mass", .beta = 1},
                                              {.class_share = "mass", .beta = 2},
                                              {.pruning_rate = 0.7, .beta = 1}}));
  ASSERT_TRUE(figure);
  EXPECT_THAT(*figure, HasSubstr(">rcap, 50 % pruned<"));
  EXPECT_THAT(*figure, HasSubstr(">rcap mass, 90 % pruned<"));
  EXPECT_THAT(*figure, Not(HasSubstr("70 % pruned")));  // one beta is no line
}

TEST(CostFigure, NeedsTwoPoints) {
  EXPECT_FALSE(cost_figure(results_of({{.seed = 0}, {.seed = 1}})));
  EXPECT_TRUE(cost_figure(results_of({{}, {.method = "full"}})));
}

TEST(CostFigure, CountsTheScoringRunAndAveragesSeeds) {
  const auto figure = cost_figure(results_of(
      {{.method = "full"},
       {.method = "ccs", .seed = 0, .worst = 0.4, .train_seconds = 10, .scoring_seconds = 20},
       {.method = "ccs", .seed = 1, .worst = 0.6, .train_seconds = 12, .scoring_seconds = 20}}));
  ASSERT_TRUE(figure);
  EXPECT_THAT(*figure, HasSubstr("<title>ccs, 90 % pruned: 50.0 %, 31.0 s</title>"));
  EXPECT_THAT(*figure, HasSubstr(">Pareto front<"));
}

TEST(CostFigure, TakesTheBetaNearestToOne) {
  // 2 is a factor of 2 away from 1, 1/4 a factor of 4.
  const auto figure = cost_figure(
      results_of({{.method = "full"}, {.beta = 0.25, .worst = 0.25}, {.beta = 2, .worst = 0.75}}));
  ASSERT_TRUE(figure);
  EXPECT_THAT(*figure, HasSubstr("<title>rcap, 90 % pruned: 75.0 %"));
  EXPECT_THAT(*figure, Not(HasSubstr("<title>rcap, 90 % pruned: 25.0 %")));
  EXPECT_THAT(*figure, HasSubstr("nearest"));
}

TEST(SampleCostFigure, CountsScoringAndAThirdOfWhatOnlyGoesForward) {
  // 4 epochs of 100 samples: 400, and a third of 300; 400 and 4000 of scoring.
  const auto figure =
      sample_cost_figure(results_of({{.method = "full"},
                                     {.worst = 0.4, .forward_samples = 300},
                                     {.method = "ccs", .worst = 0.3, .scoring_samples = 4000}}));
  ASSERT_TRUE(figure);
  EXPECT_THAT(*figure, HasSubstr("<title>rcap, 90 % pruned: 40.0 %, 500 samples</title>"));
  EXPECT_THAT(*figure, HasSubstr("<title>ccs, 90 % pruned: 30.0 %, 4,400 samples</title>"));
  EXPECT_THAT(*figure, HasSubstr("third"));
  EXPECT_THAT(*figure, HasSubstr(">Pareto front<"));
}

TEST(SampleCostFigure, LeavesOutRunsThatDidNotCount) {
  const auto figure = sample_cost_figure(results_of(
      {{.method = "full"}, {.method = "rs2"}, {.method = "ucb", .counts_samples = false}}));
  ASSERT_TRUE(figure);
  EXPECT_THAT(*figure, HasSubstr("<title>rs2"));
  EXPECT_THAT(*figure, Not(HasSubstr("<title>ucb")));
  EXPECT_FALSE(sample_cost_figure(
      results_of({{.method = "full"}, {.method = "ucb", .counts_samples = false}})));
}

TEST(CurveFigure, GoesOverTheSamplesTrainedOn) {
  // A tenth of 1000 samples in each of 4 epochs; the highest rate alone, and full.
  const auto figure = curve_figure(results_of({{.seed = 0, .worst = 0.4},
                                               {.seed = 1, .worst = 0.6},
                                               {.pruning_rate = 0.5},
                                               {.method = "full", .worst = 0.7}}));
  ASSERT_TRUE(figure);
  EXPECT_THAT(*figure, HasSubstr("<title>rcap: 50.0 %, 400 samples</title>"));
  EXPECT_THAT(*figure, HasSubstr("<title>full: 70.0 %, 4000 samples</title>"));
  EXPECT_THAT(*figure, Not(HasSubstr("<title>rcap: 70.0 %, 2000 samples")));
  EXPECT_THAT(*figure, HasSubstr("class=\"band\""));
}

TEST(Figures, TellWhichSamplesAccuraciesAreOf) {
  const char* const held_out = "held-out part of the training data";
  EXPECT_THAT(*curve_figure(results_of({{}})), Not(HasSubstr(held_out)));
  const StudyResults results = results_of(
      {{.beta = 1, .evaluated_on = "held-out"}, {.beta = 2, .evaluated_on = "held-out"}});
  EXPECT_THAT(*curve_figure(results), HasSubstr(held_out));
  EXPECT_THAT(*beta_figure(results), HasSubstr(held_out));
}

TEST(CurveFigure, NeedsMoreThanOneEvaluation) {
  EXPECT_FALSE(curve_figure(results_of({{.epochs = 1}})));
}

TEST(ClassFractionFigure, ShowsTheRulesOfRcapAndWhatTheyAreComparedWith) {
  const auto figure = class_fraction_figure(results_of({{.method = "ucb"},
                                                        {.class_share = "group"},
                                                        {.method = "rs2"},
                                                        {.method = "balanced"},
                                                        {.pruning_rate = 0.5}}));
  ASSERT_TRUE(figure);
  EXPECT_EQ(count_of(*figure, "class=\"frame\" x"), 3U);
  EXPECT_THAT(*figure, HasSubstr(">rcap group<"));
  EXPECT_THAT(*figure, Not(HasSubstr(">ucb<")));
  EXPECT_THAT(*figure, HasSubstr(">common (990)<"));
  EXPECT_THAT(*figure, HasSubstr("90 % pruned<"));
  EXPECT_FALSE(class_fraction_figure(results_of({{.method = "ucb"}})));
  EXPECT_FALSE(class_fraction_figure(results_of({{.epochs = 1}})));
}

/// Gives a run many classes, the first the smallest.
void make_many_classes(RunResult& run, std::size_t count) {
  run.summary.group_names.clear();
  run.summary.train_class_sizes.clear();
  for (std::size_t j = 0; j < count; ++j) {
    run.summary.group_names.push_back("kind " + std::to_string(j));
    run.summary.train_class_sizes.push_back(static_cast<std::int64_t>(10 + j));
  }
  for (EpochRecord& record : run.epochs) {
    record.class_counts.assign(count, 5);
    record.class_losses.assign(count, 0.5);
  }
}

TEST(ClassFractionFigure, LetsTheEndsOfAThousandClassesStandOut) {
  StudyResults results = results_of({{}});
  make_many_classes(results.runs[0], 1000);
  const auto figure = class_fraction_figure(results);
  ASSERT_TRUE(figure);
  for (const char* name : {"kind 999 (1009)", "kind 997 (1007)", "kind 2 (12)", "kind 0 (10)"}) {
    EXPECT_THAT(*figure, HasSubstr(name));
  }
  EXPECT_THAT(*figure, Not(HasSubstr(">kind 3 ")));
  EXPECT_EQ(count_of(*figure, "<g class=\"faint\">"), 41U);  // 40 lines, and the legend
}

TEST(ClassCountFigure, SetsCountsAgainstSizeAndLoss) {
  const auto figure = class_count_figure(results_of({{}, {.method = "rs2"}, {.method = "full"}}));
  ASSERT_TRUE(figure);
  EXPECT_THAT(*figure, HasSubstr(">samples of the class<"));
  EXPECT_THAT(*figure, HasSubstr(">loss of the class<"));
  EXPECT_THAT(*figure, Not(HasSubstr(">full<")));
  EXPECT_FALSE(class_count_figure(results_of({{.method = "full"}})));
}

TEST(ClassCountFigure, LeavesOutTheSizeOfClassesOfOneSize) {
  StudyResults results = results_of({{}});
  results.runs[0].summary.train_class_sizes = {500, 500};
  const auto figure = class_count_figure(results);
  ASSERT_TRUE(figure);
  EXPECT_THAT(*figure, Not(HasSubstr(">samples of the class<")));
}

TEST(ClassCountFigure, AveragesManyClassesAndShowsEmptyOnes) {
  StudyResults results = results_of({{}});
  make_many_classes(results.runs[0], 120);
  for (EpochRecord& record : results.runs[0].epochs) {
    std::fill_n(record.class_counts.begin(), 10, 0);  // the smallest ten are one group
  }
  const auto figure = class_count_figure(results);
  ASSERT_TRUE(figure);
  EXPECT_THAT(*figure, HasSubstr("averaged in groups"));
  EXPECT_THAT(*figure, HasSubstr("drawn as 0.5"));
  // Against size all twelve groups are on the line, the empty one at 0.5.
  const std::size_t line = figure->find("class=\"line thin\"");
  EXPECT_EQ(count_of(figure->substr(line, figure->find('>', line) - line), "L"), 11U);
  // Against loss eleven groups have a marker, one of no samples has no place.
  EXPECT_EQ(count_of(*figure, "<title>rcap</title>"), 11U);
}

TEST(Figures, PutDataSetsBelowEachOther) {
  const auto figure =
      cost_figure(results_of({{},
                              {.method = "rs2"},
                              {.dataset = "a<b", .imbalance = 1},
                              {.method = "rs2", .dataset = "a<b", .imbalance = 1}}));
  ASSERT_TRUE(figure);
  EXPECT_EQ(count_of(*figure, "class=\"frame\" x"), 4U);
  EXPECT_THAT(*figure, HasSubstr(">a&lt;b<"));
}

TEST(WriteFigures, WritesWhatTheRunsAllowAndRemovesTheRest) {
  const TemporaryFolder folder;
  write_text(folder.path() / "figure_beta.svg", "of an earlier study");
  const StudyResults results = results_of({{}, {.method = "rs2"}});
  EXPECT_THAT(
      write_figures(results, folder.path()),
      ElementsAre(folder.path() / "figure_class_fractions.svg",
                  folder.path() / "figure_class_counts.svg", folder.path() / "figure_cost.svg",
                  folder.path() / "figure_samples.svg", folder.path() / "figure_curves.svg"));
  EXPECT_FALSE(fs::exists(folder.path() / "figure_beta.svg"));
  EXPECT_EQ(read_text(folder.path() / "figure_cost.svg"), *cost_figure(results));
}

TEST(WriteFigures, GivesTheSameBytesForTheSameRuns) {
  const std::vector<SampleRun> runs{{.beta = 1}, {.beta = 2}, {.method = "rs2"}};
  const TemporaryFolder one;
  const TemporaryFolder other;
  const auto paths = write_figures(results_of(runs), one.path());
  write_figures(results_of(runs), other.path());
  ASSERT_THAT(paths, SizeIs(6));
  for (const fs::path& path : paths) {
    EXPECT_EQ(read_text(path), read_text(other.path() / path.filename()));
  }
}

}  // namespace
}  // namespace rcap
