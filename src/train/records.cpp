#include "rcap/train/records.hpp"

#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

namespace rcap {
namespace {

using Json = nlohmann::ordered_json;

/// Each part of `Seconds` under its name.
struct NamedSeconds {
  const char* name;
  double Seconds::*value;
};

constexpr NamedSeconds Parts[] = {
    {"setup", &Seconds::setup},
    {"scoring", &Seconds::scoring},
    {"initial_pass", &Seconds::initial_pass},
    {"select", &Seconds::select},
    {"data_wait", &Seconds::data_wait},
    {"train", &Seconds::train},
    {"observe", &Seconds::observe},
    {"evaluate", &Seconds::evaluate},
    {"checkpoint", &Seconds::checkpoint},
};

// JSON has no NaN; null stands for it.
Json number(double value) { return std::isnan(value) ? Json(nullptr) : Json(value); }
double from_number(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

void put_evaluation(Json& json, const Evaluation& evaluation) {
  json["accuracy"] = number(evaluation.accuracy);
  json["worst_group_accuracy"] = number(evaluation.worst_group_accuracy);
  json["average_group_accuracy"] = number(evaluation.average_group_accuracy);
  if (evaluation.adjusted_average_accuracy) {
    json["adjusted_average_accuracy"] = number(*evaluation.adjusted_average_accuracy);
  }
  json["group_accuracy"] = Json::array();
  for (const double accuracy : evaluation.group_accuracy) {
    json["group_accuracy"].push_back(number(accuracy));
  }
}

}  // namespace

double Seconds::total() const noexcept {
  double sum = 0;
  for (const NamedSeconds& part : Parts) sum += this->*part.value;
  return sum;
}

Seconds& Seconds::operator+=(const Seconds& other) noexcept {
  for (const NamedSeconds& part : Parts) this->*part.value += other.*part.value;
  return *this;
}

void to_json(Json& json, const Evaluation& evaluation) { put_evaluation(json, evaluation); }

void from_json(const Json& json, Evaluation& evaluation) {
  evaluation.accuracy = from_number(json.at("accuracy"));
  evaluation.worst_group_accuracy = from_number(json.at("worst_group_accuracy"));
  evaluation.average_group_accuracy = from_number(json.at("average_group_accuracy"));
  evaluation.adjusted_average_accuracy.reset();
  if (const auto adjusted = json.find("adjusted_average_accuracy"); adjusted != json.end()) {
    evaluation.adjusted_average_accuracy = from_number(*adjusted);
  }
  evaluation.group_accuracy.clear();
  for (const Json& accuracy : json.at("group_accuracy")) {
    evaluation.group_accuracy.push_back(from_number(accuracy));
  }
}

void to_json(Json& json, const Seconds& seconds) {
  json["total"] = seconds.total();
  for (const NamedSeconds& part : Parts) json[part.name] = seconds.*part.value;
}

void from_json(const Json& json, Seconds& seconds) {
  for (const NamedSeconds& part : Parts) seconds.*part.value = json.at(part.name).get<double>();
}

void to_json(Json& json, const EpochRecord& record) {
  json["epoch"] = record.epoch;
  json["lr"] = record.lr;
  json["train_loss"] = number(record.train_loss);
  json["selected"] = record.selected;
  json["class_counts"] = record.class_counts;
  json["class_fractions"] = Json::array();
  for (const std::int64_t count : record.class_counts) {
    const auto selected = static_cast<double>(record.selected);
    json["class_fractions"].push_back(record.selected == 0 ? 0
                                                           : static_cast<double>(count) / selected);
  }
  if (record.evaluation) put_evaluation(json, *record.evaluation);
  json["seconds"] = record.seconds;
}

void from_json(const Json& json, EpochRecord& record) {
  record.epoch = json.at("epoch").get<std::int64_t>();
  record.lr = json.at("lr").get<double>();
  record.train_loss = from_number(json.at("train_loss"));
  record.selected = json.at("selected").get<std::int64_t>();
  record.class_counts = json.at("class_counts").get<std::vector<std::int64_t>>();
  record.evaluation.reset();
  if (json.contains("accuracy")) record.evaluation = json.get<Evaluation>();
  record.seconds = json.at("seconds").get<Seconds>();
}

void to_json(Json& json, const Summary& summary) {
  json["dataset"] = summary.dataset;
  json["imbalance"] = summary.imbalance;
  json["model"] = summary.model;
  json["group_by"] = summary.group_by;
  json["method"] = summary.method;
  if (!summary.class_share.empty()) json["class_share"] = summary.class_share;
  json["pruning_rate"] = summary.pruning_rate;
  json["beta"] = summary.beta ? Json(*summary.beta) : Json(nullptr);
  json["seed"] = summary.seed;
  json["n_train"] = summary.n_train;
  json["keep_count"] = summary.keep_count;
  json["epochs"] = summary.epochs;
  json["samples_seen"] = summary.samples_seen;
  put_evaluation(json, summary.evaluation);
  json["group_names"] = summary.group_names;
  json["group_sizes"] = summary.group_sizes;
  json["train_class_sizes"] = summary.train_class_sizes;
  json["seconds"] = summary.seconds;
}

}  // namespace rcap
