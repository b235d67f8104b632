#include "study/overview.hpp"

#include <gmock/gmock.h>

#include "study/study_samples.hpp"
#include "temporary_folder.hpp"

namespace rcap {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(Overview, HasALineForEachMethod) {
  const TemporaryFolder folder;
  write_run(folder / "a", {.method = "full", .worst = 0.6, .train_seconds = 100});
  write_run(folder / "b", {.seed = 0, .worst = 0.5, .forward_samples = 1000});
  write_run(folder / "c", {.seed = 27, .worst = 0.6, .forward_samples = 1000});
  write_run(folder / "d", {.beta = 4, .seed = 0, .worst = 0.1});
  StudyResults results = read_results(folder.path());
  results.methods = {"full", "rcap"};
  EXPECT_EQ(
      overview_of(results),
      "fashion-mnist, long-tailed 100, 90 % pruned\n\n"
      "| method | samples per epoch | worst group, % | average group, % | trained on | "
      "forward only | seconds | times cheaper |\n"
      "| ------ | ----------------: | -------------: | ---------------: | ---------: | "
      "-----------: | ------: | ------------: |\n"
      "| full   |              1000 |           60.0 |             75.0 |      4,000 | "
      "           0 |   100.0 |           1.0 |\n"
      "| rcap   |               100 |     55.0 ± 5.0 |       72.5 ± 2.5 |        400 | "
      "       1,000 |    10.0 |          10.0 |\n"
      "\n"
      "2 seeds (0, 27). Samples trained on and seconds include everything a run does, also its "
      "scoring run; samples of evaluations do not count.\n");
}

TEST(Overview, ShowsMethodsWithoutARateAtEveryRate) {
  const TemporaryFolder folder;
  write_run(folder / "a", {.method = "ies", .pruning_rate = 0.25, .follows_rate = false});
  write_run(folder / "b", {.pruning_rate = 0.5});
  write_run(folder / "c", {.pruning_rate = 0.9});
  const std::string overview = overview_of(read_results(folder.path()));
  // What it trained on, 750 of 1000, not what a rate would leave.
  const std::string line = "| ies    |               750 |           50.0 |";
  const auto first = overview.find(line);
  ASSERT_NE(first, std::string::npos) << overview;
  EXPECT_NE(overview.find(line, first + 1), std::string::npos) << overview;
  EXPECT_THAT(overview, AllOf(HasSubstr(", 50 % pruned\n"), HasSubstr(", 90 % pruned\n"),
                              Not(HasSubstr(", 0 % pruned\n"))));
}

TEST(Overview, TellsWhichSamplesAccuraciesAreOf) {
  const TemporaryFolder folder;
  write_run(folder / "a", {.imbalance = 1, .evaluated_on = "held-out"});
  EXPECT_THAT(
      overview_of(read_results(folder.path())),
      HasSubstr("\nfashion-mnist, held-out part: Accuracies are of the held-out part of the "
                "training data.\n"));
}

TEST(Overview, ComparesCostOnlyWithAFullRun) {
  const TemporaryFolder folder;
  write_run(folder / "a", {.method = "rs2"});
  EXPECT_THAT(
      overview_of(read_results(folder.path())),
      HasSubstr("| rs2    |               100 |           50.0 |             70.0 |        400 | "
                "           0 |    10.0 |               |\n"));
}

}  // namespace
}  // namespace rcap
