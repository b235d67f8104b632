#include "rcap/train/records.hpp"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace rcap {
namespace {

using Json = nlohmann::ordered_json;
using testing::ElementsAre;

EpochRecord some_record() {
  EpochRecord record;
  record.epoch = 3;
  record.lr = 0.1 + 0.2;  // not a short decimal
  record.train_loss = 1.0 / 3;
  record.selected = 4;
  record.class_counts = {3, 1};
  record.evaluation = Evaluation{0.5, 0.25, 0.4, 0.3, {0.25, std::nan("")}};
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
  ASSERT_TRUE(back.evaluation);
  EXPECT_EQ(back.evaluation->average_group_accuracy, 0.4);
  EXPECT_EQ(back.evaluation->adjusted_average_accuracy, 0.3);
  EXPECT_EQ(back.evaluation->group_accuracy[0], 0.25);
  EXPECT_TRUE(std::isnan(back.evaluation->group_accuracy[1]));
  EXPECT_EQ(back.seconds.train, 1.5);
  EXPECT_EQ(Json(back).dump(), Json(record).dump());
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

}  // namespace
}  // namespace rcap
