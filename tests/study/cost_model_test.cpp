#include "study/cost_model.hpp"

#include <gtest/gtest.h>

namespace rcap {
namespace {

PlannedRun run_of(const std::string& dataset, const std::string& method, double rate,
                  std::int64_t epochs = 9) {
  PlannedRun run;
  run.dataset = dataset;
  run.method = method;
  run.options.method = method;
  run.options.pruner.common.pruning_rate = rate;
  run.options.epochs = epochs;
  return run;
}

PlannedRun scoring_of(const std::vector<std::string>& methods) {
  PlannedRun run;
  run.dataset = "a";
  run.makes_scores = true;
  run.options.make_scores = methods;
  run.options.epochs = 10;
  run.options.score_epochs = 4;
  return run;
}

TEST(FullTrainings, CountSamplesSeen) {
  EXPECT_DOUBLE_EQ(full_trainings(run_of("a", "full", 0.9)), 1);
  EXPECT_DOUBLE_EQ(full_trainings(run_of("a", "rs2", 0.75)), 0.25);
  // A forward pass over everything is a third of an epoch, of ten.
  EXPECT_DOUBLE_EQ(full_trainings(run_of("a", "top-loss", 0.5, 10)), 0.5 + 1.0 / 30);
  // RCAP makes none, unless an option asks for it.
  PlannedRun rcap = run_of("a", "rcap", 0.5, 10);
  EXPECT_DOUBLE_EQ(full_trainings(rcap), 0.5);
  rcap.options.pruner.rcap.class_share = ClassShare::Paper;
  EXPECT_DOUBLE_EQ(full_trainings(rcap), 0.5 + 1.0 / 30);
  // Everything once, then half of it nine times.
  EXPECT_DOUBLE_EQ(full_trainings(run_of("a", "ucb", 0.5, 10)), 0.55);
}

TEST(FullTrainings, CountNoLessThanOneForARuleOfItsOwn) {
  PlannedRun infobatch = run_of("a", "infobatch", 0.9);
  EXPECT_NEAR(full_trainings(infobatch), 0.1, 1e-12);
  infobatch.options.meet_rate = false;
  EXPECT_DOUBLE_EQ(full_trainings(infobatch), 1);
}

TEST(FullTrainings, CountWhatScoringTrains) {
  EXPECT_DOUBLE_EQ(full_trainings(scoring_of({"ccs", "tdds"})), 1);
  EXPECT_DOUBLE_EQ(full_trainings(scoring_of({"tdds"})), 0.4);
  EXPECT_DOUBLE_EQ(full_trainings(scoring_of({"ccs", "metriq", "tdds"})), 1.9);
  PlannedRun scoring = scoring_of({"dual", "el2n", "tdds"});
  scoring.options.dual_epochs = 6;
  scoring.options.el2n_epochs = 5;
  EXPECT_DOUBLE_EQ(full_trainings(scoring), 0.6);
  scoring.options.make_scores = {"el2n", "tdds"};
  EXPECT_DOUBLE_EQ(full_trainings(scoring), 0.5);
  for (const char* method : {"forgetting", "dyn-unc"}) {
    EXPECT_DOUBLE_EQ(full_trainings(scoring_of({method, "tdds"})), 1) << method;
  }
  EXPECT_DOUBLE_EQ(full_trainings(scoring_of({"metriq"})), 0.9);
}

TEST(CostModel, KnowsNothingBeforeTheFirstRun) {
  EXPECT_LT(CostModel().estimate(run_of("a", "rs2", 0.5)), 0);
}

TEST(CostModel, TakesTheNearestRunsItKnows) {
  CostModel costs;
  // Nine epochs and what is around them, one more: ten units in 20 seconds.
  costs.add(run_of("a", "full", 0), 20);
  // Another data set, nothing known of it: 9 * 1/3 + 1 = 4 units at 2 seconds.
  EXPECT_DOUBLE_EQ(costs.estimate(run_of("b", "rs2", 0.6666666666666667)), 8);
  costs.add(run_of("a", "rs2", 0.5), 3);
  // The same data and rate: what such a run took.
  EXPECT_DOUBLE_EQ(costs.estimate(run_of("a", "balanced", 0.5)), 3);
}

}  // namespace
}  // namespace rcap
