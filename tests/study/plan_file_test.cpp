#include "study/plan_file.hpp"

#include <gmock/gmock.h>

#include "base/text_file.hpp"
#include "core/expect_throw.hpp"
#include "rcap/core/error.hpp"
#include "temporary_folder.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

StudyPlan plan_of(const std::string& text) {
  const TemporaryFolder folder;
  write_text(folder / "plan.toml", text);
  return read_plan_file(folder / "plan.toml", {.threads = 3, .data_root = "/somewhere"});
}

template <class Error = InvalidArgument>
std::string refusal_of(const std::string& text) {
  return message_of<Error>([&] { (void)plan_of(text); });
}

std::vector<std::string> names_of(const StudyPlan& plan) {
  std::vector<std::string> names;
  for (const PlannedRun& run : plan.runs) names.push_back(run.name);
  return names;
}

const std::string Small = R"(
seeds = [0]
pruning-rates = [0.5]
methods = ["rs2"]
datasets = [{dataset = "mnist"}]
)";

TEST(PlanFile, TakesWhatAccuraciesAreOfFromItsOptions) {
  const StudyPlan plan = plan_of(Small + R"(
[options]
hold-out = 0.2
evaluate = "held-out"
label-noise = 0.1
min-test-samples = 5
)");
  const TrainOptions& options = plan.runs.at(0).options;
  EXPECT_EQ(options.hold_out, 0.2);
  EXPECT_EQ(options.evaluate, Evaluate::HeldOut);
  EXPECT_EQ(options.label_noise, 0.1);
  EXPECT_EQ(options.min_test_samples, 5);
}

TEST(PlanFile, RefusesNamesThatNoFileCanHave) {
  const std::string data = std::string(150, 'd'), method = std::string(150, 'm');
  EXPECT_THAT(refusal_of("seeds = [0]\npruning-rates = [0.5]\nmethods = [{name = \"" + method +
                         "\", method = \"rs2\"}]\ndatasets = [{name = \"" + data +
                         "\", dataset = \"mnist\"}]\n"),
              HasSubstr("has 317 characters; a file name may have 240"));
}

TEST(PlanFile, RefusesAccuraciesOfDifferentSamplesInARow) {
  const auto refusal = [](const std::string& second) {
    return refusal_of(R"(
seeds = [0]
pruning-rates = [0.5]
methods = ["rs2", {name = "other", method = "ucb", )" +
                      second + R"(}]
datasets = [{dataset = "mnist", hold-out = 0.2, evaluate = "held-out"}]
)");
  };
  EXPECT_THAT(refusal("evaluate = \"test\""),
              HasSubstr("data set \"mnist\": evaluate is held-out with rs2 and test with other, so "
                        "one row of a table would compare accuracies on different samples"));
  EXPECT_THAT(refusal("hold-out = 0.1"), HasSubstr("hold-out is 0.2 with rs2 and 0.1 with other"));
  EXPECT_THAT(refusal("min-test-samples = 3"), HasSubstr("min-test-samples is 1 with rs2 and 3"));
  // What a method trains on is its own affair.
  EXPECT_NO_THROW((void)plan_of(R"(
seeds = [0]
pruning-rates = [0.5]
methods = ["rs2", {name = "other", method = "ucb", hold-out = 0.2}]
datasets = [{dataset = "mnist"}]
)"));
}

TEST(PlanFile, CrossesDatasetsMethodsRatesAndSeeds) {
  const StudyPlan plan = plan_of(R"(
title = "A title"
seeds = [0, 27]
pruning-rates = [0.5, 0.9]
methods = ["full", "rs2"]
[[datasets]]
name = "Long tail"
dataset = "mnist"
imbalance = 100
)");
  EXPECT_EQ(plan.title, "A title");
  EXPECT_THAT(plan.datasets, ElementsAre("Long tail"));
  EXPECT_THAT(plan.methods, ElementsAre("full", "rs2"));
  // Everything needs no rate.
  EXPECT_THAT(names_of(plan),
              ElementsAre("long-tail-full-seed-0", "long-tail-rs2-rate-0.5-seed-0",
                          "long-tail-rs2-rate-0.9-seed-0", "long-tail-full-seed-27",
                          "long-tail-rs2-rate-0.5-seed-27", "long-tail-rs2-rate-0.9-seed-27"));
  const TrainOptions& options = plan.runs[1].options;
  EXPECT_EQ(options.dataset, "mnist");
  EXPECT_EQ(options.imbalance, 100);
  EXPECT_EQ(options.method, "rs2");
  EXPECT_EQ(options.seed, 0u);
  EXPECT_EQ(options.pruner.common.pruning_rate, 0.5);
  EXPECT_EQ(options.threads, 3);
}

TEST(PlanFile, RunsOnceWhatNoRateChanges) {
  const StudyPlan plan = plan_of(R"(
seeds = [0]
pruning-rates = [0.5, 0.9]
methods = ["kakurenbo", {name = "seta as published", method = "seta", budget = false},
           {name = "infobatch as published", method = "infobatch", meet-rate = false}, "infobatch"]
datasets = [{dataset = "mnist"}]
)");
  EXPECT_THAT(names_of(plan),
              ElementsAre("mnist-kakurenbo-seed-0", "mnist-seta-as-published-seed-0",
                          "mnist-infobatch-as-published-seed-0", "mnist-infobatch-rate-0.5-seed-0",
                          "mnist-infobatch-rate-0.9-seed-0"));
}

TEST(PlanFile, LetsADataSetHaveItsOwnRates) {
  const StudyPlan plan = plan_of(R"(
seeds = [0]
pruning-rates = [0.5, 0.9]
methods = ["rs2"]
datasets = [{dataset = "mnist", pruning-rates = [0.7]}, {dataset = "fashion-mnist"}]
)");
  EXPECT_THAT(names_of(plan),
              ElementsAre("mnist-rs2-rate-0.7-seed-0", "fashion-mnist-rs2-rate-0.5-seed-0",
                          "fashion-mnist-rs2-rate-0.9-seed-0"));
}

TEST(PlanFile, RefusesRatesWhereTheyWouldNotBeCompared) {
  const std::string beginning = "seeds = [0]\npruning-rates = [0.5]\n";
  const std::string data = "datasets = [{dataset = \"mnist\"}]\n";
  EXPECT_THAT(
      refusal_of(beginning + data + "methods = [{method = \"rs2\", pruning-rates = [0.7]}]\n"),
      HasSubstr("method \"rs2\": pruning-rates belong to the plan or to a data set"));
  EXPECT_THAT(
      refusal_of(beginning + data + "methods = [\"rs2\"]\n[options]\npruning-rates = [0.7]"),
      HasSubstr("pruning-rates is set by the study"));
}

TEST(PlanFile, RunsRcapAtEveryBeta) {
  const StudyPlan plan = plan_of(R"(
seeds = [0]
pruning-rates = [0.9]
betas = [0.5, 2]
methods = ["rcap", "rs2"]
datasets = [{dataset = "mnist"}]
)");
  EXPECT_THAT(names_of(plan),
              ElementsAre("mnist-rcap-rate-0.9-beta-0.5-seed-0",
                          "mnist-rcap-rate-0.9-beta-2-seed-0", "mnist-rs2-rate-0.9-seed-0"));
  EXPECT_EQ(plan.runs[1].options.pruner.rcap.beta, 2);
  EXPECT_EQ(plan.reference, "rcap");
}

TEST(PlanFile, LetsTheNearestOptionWin) {
  const StudyPlan plan = plan_of(R"(
seeds = [0]
pruning-rates = [0.9]
methods = [{name = "short", method = "rs2", epochs = 3}]
[options]
epochs = 1
lr = 0.1
flip = true
[[datasets]]
dataset = "mnist"
epochs = 2
lr = 0.2
)");
  EXPECT_EQ(plan.runs[0].options.epochs, 3);
  EXPECT_EQ(plan.runs[0].options.lr, 0.2);
  EXPECT_TRUE(plan.runs[0].options.flip);
}

TEST(PlanFile, TakesPathsFromWhereTheDataAre) {
  const StudyPlan plan = plan_of(R"(
seeds = [0]
pruning-rates = [0.9]
methods = ["rs2"]
[[datasets]]
dataset = "cifar10"
data = "cifar/../cifar10"
weights = "/elsewhere/w.pth"
)");
  EXPECT_EQ(plan.runs[0].options.data, "/somewhere/cifar10");
  EXPECT_EQ(plan.runs[0].options.weights, "/elsewhere/w.pth");
}

TEST(PlanFile, SharesOneScoringRunPerDatasetAndSeed) {
  const StudyPlan plan = plan_of(R"(
seeds = [0, 1]
pruning-rates = [0.5, 0.9]
methods = ["ccs", "rs2", "tdds"]
datasets = [{dataset = "mnist"}]
)");
  EXPECT_EQ(plan.runs.size(), 2u * (2 * 3 + 1));
  const PlannedRun& scoring = plan.runs[0];
  EXPECT_EQ(scoring.name, "mnist-scoring-seed-0");
  EXPECT_TRUE(scoring.makes_scores);
  EXPECT_THAT(scoring.options.make_scores, ElementsAre("ccs", "tdds"));
  EXPECT_EQ(scoring.options.seed, 0u);
  for (const PlannedRun& run : plan.runs) {
    const bool is_static = run.method == "ccs" || run.method == "tdds";
    const std::string seed = run.name.substr(run.name.size() - 1);
    EXPECT_EQ(run.scores_from, is_static ? "mnist-scoring-seed-" + seed : "") << run.name;
  }
}

TEST(PlanFile, TellsTheScoringRunWhatEachMethodListensTo) {
  const StudyPlan plan = plan_of(R"(
seeds = [0]
pruning-rates = [0.5]
methods = ["forgetting", {method = "dual", dual-epochs = 12, score-window = 4},
           {method = "tdds", score-epochs = 6, score-window = 4}]
datasets = [{dataset = "mnist"}]
)");
  const TrainOptions& scoring = plan.runs[0].options;
  EXPECT_THAT(scoring.make_scores, ElementsAre("dual", "forgetting", "tdds"));
  EXPECT_EQ(scoring.dual_epochs, 12);
  EXPECT_EQ(scoring.score_epochs, 6);
  EXPECT_EQ(scoring.score_window, 4);
  EXPECT_EQ(scoring.el2n_epochs, TrainOptions().el2n_epochs);
  EXPECT_EQ(plan.runs.size(), 4U);
}

TEST(PlanFile, ScoresApartWhereTheTrainingDiffers) {
  const StudyPlan plan = plan_of(R"(
seeds = [0]
pruning-rates = [0.5]
methods = ["ccs", {name = "long ccs", method = "ccs", epochs = 9}]
datasets = [{dataset = "mnist"}]
)");
  EXPECT_THAT(names_of(plan),
              ElementsAre("mnist-scoring-seed-0", "mnist-ccs-rate-0.5-seed-0",
                          "mnist-scoring-seed-0-2", "mnist-long-ccs-rate-0.5-seed-0"));
  EXPECT_EQ(plan.runs[3].scores_from, "mnist-scoring-seed-0-2");
}

TEST(PlanFile, RefusesOneScoringRunThatWouldListenTwice) {
  EXPECT_THAT(refusal_of(R"(
seeds = [0]
pruning-rates = [0.5]
methods = [{name = "a", method = "tdds", score-window = 3}, {name = "b", method = "tdds", score-window = 5}]
datasets = [{dataset = "mnist"}]
)"),
              HasSubstr("score-window is 5 here and 3 in another run"));
  EXPECT_THAT(refusal_of(R"(
seeds = [0]
pruning-rates = [0.5]
methods = [{method = "tdds", score-window = 3}, "dyn-unc"]
datasets = [{dataset = "mnist"}]
)"),
              HasSubstr("score-window is 10 here and 3 in another run"));
}

TEST(PlanFile, NamesTheNearestKey) {
  EXPECT_THAT(refusal_of("seed = [0]\n"), HasSubstr("plan.toml:1: a plan has no \"seed\" (did you "
                                                    "mean seeds?)"));
}

TEST(PlanFile, NamesTheRunWhoseOptionsAreRefused) {
  EXPECT_THAT(
      refusal_of(Small + "[options]\nepoch = 3\n"),
      HasSubstr("data set \"mnist\", method \"rs2\": there is no option epoch (did you mean "
                "epochs?)"));
  EXPECT_THAT(refusal_of(Small + "[options]\nbeta = 3\n"),
              HasSubstr("method \"rs2\": rs2 has no option beta; rcap has it"));
  EXPECT_THAT(refusal_of(Small + "[options]\nepochs = 0\n"),
              HasSubstr("epochs is 0; it must lie between 1 and"));
}

TEST(PlanFile, TellsTheLineThatIsNotToml) {
  EXPECT_THAT(refusal_of<BadFile>("seeds = [0]\n\npruning-rates = [\n"), HasSubstr("plan.toml:3:"));
}

TEST(PlanFile, RefusesAnEmptyStudy) {
  EXPECT_THAT(refusal_of(""), HasSubstr("there is no data set"));
  EXPECT_THAT(refusal_of("datasets = [{dataset = \"mnist\"}]"), HasSubstr("there is no method"));
  EXPECT_THAT(refusal_of("datasets = [{dataset = \"mnist\"}]\nmethods = [\"rs2\"]"),
              HasSubstr("there is no seed"));
  EXPECT_THAT(refusal_of("datasets = [{dataset = \"mnist\"}]\nmethods = [\"rs2\"]\nseeds = [0]"),
              HasSubstr("method rs2 needs pruning rates"));
}

TEST(PlanFile, RefusesWhatCannotBeMeant) {
  EXPECT_THAT(refusal_of("seeds = [0, 0]"), HasSubstr("0 appears twice"));
  // Beyond every integer, part of one, and a word that some readers take for 1.
  for (const char* seed : {"\"a\"", "7e77", "-inf", "nan", "0.5", "true"}) {
    EXPECT_THAT(refusal_of(std::string("seeds = [") + seed + "]"),
                HasSubstr("this is not a whole number"))
        << seed;
  }
  EXPECT_THAT(refusal_of("seeds = 3"), HasSubstr("seeds must be a list"));
  EXPECT_THAT(refusal_of("title = 3"), HasSubstr("title must be a string"));
  EXPECT_THAT(refusal_of("[options]\nseed = 3"), HasSubstr("seed is set by the study"));
  EXPECT_THAT(refusal_of("methods = [\"rs2\", \"rs2\"]"), HasSubstr("\"rs2\" appears twice"));
  EXPECT_THAT(refusal_of("methods = [{class-share = \"mass\"}]"),
              HasSubstr("an entry needs one of name, method"));
  EXPECT_THAT(refusal_of(Small + "reference = \"rs3\"\n"),
              HasSubstr("reference \"rs3\" is not one of the methods rs2 (did you mean rs2?)"));
}

TEST(PlanFile, RefusesTwoRunsOfOneName) {
  EXPECT_THAT(refusal_of(R"(
seeds = [0]
pruning-rates = [0.5]
methods = [{name = "a b", method = "rs2"}, {name = "a-b", method = "rs2"}]
datasets = [{dataset = "mnist"}]
)"),
              HasSubstr("two runs would be called mnist-a-b-rate-0.5-seed-0"));
}

TEST(DifferenceOfPlans, TellsNewGoneAndChangedRuns) {
  const StudyPlan before = plan_of(Small);
  EXPECT_THAT(difference_of(before, before), IsEmpty());
  std::string text = Small + "[options]\nepochs = 9\n";
  text.replace(text.find("[0]"), 3, "[0, 1]");
  const StudyPlan after = plan_of(text);
  EXPECT_THAT(difference_of(before, after), ElementsAre("1 runs are new: mnist-rs2-rate-0.5-seed-1",
                                                        "epochs was 60, is now 9 (in 1 runs)"));
  EXPECT_THAT(difference_of(after, before),
              ElementsAre("1 runs are gone: mnist-rs2-rate-0.5-seed-1",
                          "epochs was 9, is now 60 (in 1 runs)"));
}

TEST(StudyPlan, ComesBackFromItsFile) {
  const TemporaryFolder folder;
  const StudyPlan plan = plan_of(R"(
seeds = [0]
pruning-rates = [0.5]
methods = ["ccs", "rcap"]
datasets = [{dataset = "mnist"}]
)");
  write_plan(folder / "study.json", plan);
  const StudyPlan back = read_plan(folder / "study.json");
  EXPECT_THAT(difference_of(plan, back), IsEmpty());
  EXPECT_EQ(back.reference, "rcap");
  EXPECT_TRUE(back.runs[0].makes_scores);
  EXPECT_EQ(back.runs[1].scores_from, back.runs[0].name);
}

TEST(StudyPlan, KeepsQuotesThatArePartOfAText) {
  const TemporaryFolder folder;
  const StudyPlan plan = plan_of(R"(
seeds = [0]
pruning-rates = [0.5]
methods = ["rs2"]
datasets = [{dataset = "table", data = "rows.csv", label-column = '"kind"'}]
)");
  write_plan(folder / "study.json", plan);
  EXPECT_EQ(read_plan(folder / "study.json").runs[0].options.label_column, "\"kind\"");
}

}  // namespace
}  // namespace rcap
