#include "train/records.hpp"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "core/expect_throw.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

using Json = nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;

EpochRecord some_record() {
  EpochRecord record;
  record.epoch = 3;
  record.lr = 0.1 + 0.2;  // not a short decimal
  record.train_loss = 1.0 / 3;
  record.selected = 4;
  record.class_counts = {3, 1};
  record.class_losses = {0.1, std::nan("")};
  record.evaluation = Evaluation{{0.5, 0.25, 0.4, 0.3, {0.25, std::nan("")}},
                                 Accuracies{0.45, 0.3, 0.41, 0.35, {0.3, std::nan("")}}};
  record.seconds.train = 1.5;
  record.seconds.select = 0.25;
  return record;
}

TEST(EpochRecord, ComesBackExactly) {
  const EpochRecord record = some_record();
  const auto back = Json::parse(Json(record).dump()).get<EpochRecord>();
  EXPECT_EQ(back.epoch, record.epoch);
  EXPECT_EQ(back.lr, record.lr);
  EXPECT_EQ(back.train_loss, record.train_loss);
  EXPECT_EQ(back.class_counts, record.class_counts);
  EXPECT_EQ(back.class_losses[0], 0.1);
  EXPECT_TRUE(std::isnan(back.class_losses[1]));
  ASSERT_TRUE(back.evaluation);
  EXPECT_EQ(back.evaluation->average_group_accuracy, 0.4);
  EXPECT_EQ(back.evaluation->adjusted_average_accuracy, 0.3);
  EXPECT_EQ(back.evaluation->group_accuracy[0], 0.25);
  EXPECT_TRUE(std::isnan(back.evaluation->group_accuracy[1]));
  ASSERT_TRUE(back.evaluation->prior_adjusted);
  EXPECT_EQ(back.evaluation->prior_adjusted->worst_group_accuracy, 0.3);
  EXPECT_EQ(back.evaluation->prior_adjusted->adjusted_average_accuracy, 0.35);
  EXPECT_EQ(back.seconds.train, 1.5);
  EXPECT_EQ(Json(back).dump(), Json(record).dump());
}

TEST(EpochRecord, OfAnOlderVersionHasNoPriorAdjustedAccuracies) {
  Json json = some_record();
  EXPECT_EQ(json["prior_adjusted"]["average_group_accuracy"], 0.41);
  json.erase("prior_adjusted");
  const auto old = json.get<EpochRecord>();
  EXPECT_EQ(old.evaluation->worst_group_accuracy, 0.25);
  EXPECT_FALSE(old.evaluation->prior_adjusted);
  EXPECT_EQ(Json(old), json);
}

TEST(EpochRecord, TellsFractionsOfTheSelection) {
  const Json json = some_record();
  EXPECT_THAT(json["class_fractions"].get<std::vector<double>>(), ElementsAre(0.75, 0.25));
  EXPECT_TRUE(json["group_accuracy"][1].is_null());
}

TEST(EpochRecord, HasNoEvaluationWhereNoneWasMade) {
  EpochRecord record = some_record();
  record.evaluation.reset();
  const Json json = record;
  EXPECT_FALSE(json.contains("accuracy"));
  EXPECT_FALSE(json.get<EpochRecord>().evaluation);
}

TEST(Seconds, AddUpAllParts) {
  Seconds seconds;
  seconds.train = 2;
  seconds.data_wait = 0.5;
  Seconds more;
  more.train = 1;
  more.evaluate = 4;
  seconds += more;
  EXPECT_DOUBLE_EQ(seconds.train, 3);
  EXPECT_DOUBLE_EQ(seconds.total(), 7.5);
}

TEST(Summary, HasTheKeysOfTheReference) {
  Summary summary;
  summary.method = "rcap";
  summary.beta = 2.0;
  summary.evaluation.group_accuracy = {1.0};
  const Json json = summary;
  for (const char* key : {"method", "pruning_rate", "beta", "seed", "n_train", "keep_count",
                          "epochs", "samples_seen", "accuracy", "worst_group_accuracy",
                          "average_group_accuracy", "group_accuracy", "seconds"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  for (const char* key :
       {"total", "setup", "initial_pass", "train", "select", "data_wait", "evaluate"}) {
    EXPECT_TRUE(json["seconds"].contains(key)) << key;
  }
}

Summary some_summary() {
  Summary summary;
  summary.dataset = "table";
  summary.method = "rcap";
  summary.class_share = "mass";
  summary.beta = 0.1 + 0.2;
  summary.pruning_rate = 0.9;
  summary.seed = 27;
  summary.evaluated_on = "held-out";
  summary.held_out_count = 77;
  summary.min_test_samples = 5;
  summary.changed_labels = 55;
  summary.samples_seen = 1234;
  summary.cost = {.trained = 2000, .forward = 300};
  summary.group_names = {"a", "b"};
  summary.logit_adjustment = 0.5;
  summary.evaluation = {{0.5, 1.0 / 3, 0.4, {}, {1.0 / 3, std::nan("")}},
                        Accuracies{0.6, 0.5, 0.55, {}, {0.5, std::nan("")}}};
  summary.seconds.train = 1.25;
  return summary;
}

TEST(Summary, ComesBackExactly) {
  const std::string text = to_text(some_summary());
  const Summary back = summary_from_text("summary.json", text);
  EXPECT_EQ(back.class_share, "mass");
  EXPECT_EQ(back.beta, 0.1 + 0.2);
  EXPECT_EQ(back.seed, 27u);
  EXPECT_EQ(back.evaluated_on, "held-out");
  EXPECT_EQ(back.held_out_count, 77);
  EXPECT_EQ(back.min_test_samples, 5);
  EXPECT_EQ(back.changed_labels, 55);
  ASSERT_TRUE(back.cost);
  EXPECT_EQ(back.cost->trained, 2000);
  EXPECT_EQ(back.cost->forward, 300);
  EXPECT_EQ(back.evaluation.worst_group_accuracy, 1.0 / 3);
  EXPECT_EQ(to_text(back), text);
}

TEST(Summary, OfAnOlderRunIsOfTestSamplesAndRightLabels) {
  Json json = some_summary();
  json.erase("evaluated_on");
  json.erase("held_out_count");
  json.erase("min_test_samples");
  json.erase("changed_labels");
  const auto back = json.get<Summary>();
  EXPECT_EQ(back.evaluated_on, "test");
  EXPECT_EQ(back.held_out_count, 0);
  EXPECT_EQ(back.min_test_samples, 1);
  EXPECT_EQ(back.changed_labels, 0);
}

TEST(Summary, OfAnOlderRunFollowsTheRateUnlessItIsFull) {
  Summary summary = some_summary();
  summary.follows_rate = false;
  EXPECT_FALSE(Json(summary).get<Summary>().follows_rate);
  for (const char* method : {"full", "ucb"}) {
    summary.method = method;
    Json json = summary;
    json.erase("follows_rate");
    EXPECT_EQ(json.get<Summary>().follows_rate, summary.method != "full");
  }
}

TEST(Summary, OfAnOlderRunHasNoCountOfSamples) {
  Json json = some_summary();
  json.erase("trained_samples");
  json.erase("forward_samples");
  EXPECT_FALSE(json.get<Summary>().cost);
  EXPECT_EQ(json.get<Summary>().samples_seen, 1234);
}

TEST(Summary, TellsWhenItWasChangedByHand) {
  std::string text = to_text(some_summary());
  text.replace(text.find("1234"), 4, "1235");
  EXPECT_THAT(message_of<BadFile>([&] { (void)summary_from_text("runs/a/summary.json", text); }),
              HasSubstr("runs/a/summary.json: was changed after the run wrote it"));
}

TEST(Summary, RefusesEveryTruncation) {
  const std::string text = to_text(some_summary());
  for (std::size_t length = 0; length + 2 < text.size(); ++length) {
    EXPECT_THROW((void)summary_from_text("s", text.substr(0, length)), BadFile) << length;
  }
}

}  // namespace
}  // namespace rcap
