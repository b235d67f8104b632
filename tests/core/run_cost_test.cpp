#include "rcap/core/run_cost.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace rcap {
namespace {

double cost_of(std::string_view method, const PrunerOptions& options = {}) {
  return planned_cost(require_method(method), options, 0.5, 10).in_full_epochs();
}

TEST(PlannedCost, CountsTheFirstPassThatAMethodMakes) {
  EXPECT_DOUBLE_EQ(cost_of("full"), 10);
  EXPECT_DOUBLE_EQ(cost_of("rs2"), 5);
  EXPECT_DOUBLE_EQ(cost_of("rcap"), 5);
  EXPECT_DOUBLE_EQ(cost_of("top-loss"), 5 + 1.0 / 3);
  EXPECT_DOUBLE_EQ(cost_of("ucb"), 5.5);  // everything once, then half of it nine times
}

TEST(PlannedCost, FollowsTheOptions) {
  PrunerOptions options;
  options.rcap.class_share = ClassShare::Paper;
  EXPECT_DOUBLE_EQ(cost_of("rcap", options), 5 + 1.0 / 3);
  options.rcap.initial_loss = InitialLoss::LogC;
  EXPECT_DOUBLE_EQ(cost_of("rcap", options), 5);
}

TEST(EvaluationCount, HasOneAfterTheLastEpoch) {
  EXPECT_EQ(evaluation_count(60, 6), 10);
  EXPECT_EQ(evaluation_count(20, 7), 3);  // after 7, 14 and 20
  EXPECT_EQ(evaluation_count(3, 100), 1);
  EXPECT_EQ(usual_evaluation_interval(60), 6);
  EXPECT_EQ(usual_evaluation_interval(1), 1);
  // Of 922337203685477580.7, up; the sum with 9 would not fit.
  EXPECT_EQ(usual_evaluation_interval(std::numeric_limits<std::int64_t>::max()),
            922337203685477581);
}

}  // namespace
}  // namespace rcap
