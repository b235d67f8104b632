#include "train/records.hpp"

#include <cmath>
#include <limits>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text_file.hpp"
#include "io/crc32c.hpp"
#include "io/refuse_file.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

using Json = nlohmann::ordered_json;

/// Each part of `Seconds` under its name.
struct NamedSeconds {
  const char* name;
  double Seconds::*value;
};

constexpr const char* ChecksumKey = "checksum";

/// Of the values, not of the text: it does not depend on indentation.
std::string checksum_of(const Json& json) {
  const std::string text = json.dump();
  return fmt::format("{:08x}", io::crc32c(std::as_bytes(std::span(text))));
}

constexpr NamedSeconds Parts[] = {
    {"setup", &Seconds::setup},
    {"scoring", &Seconds::scoring},
    {"initial_pass", &Seconds::initial_pass},
    {"select", &Seconds::select},
    {"data_wait", &Seconds::data_wait},
    {"train", &Seconds::train},
    {"observe", &Seconds::observe},
    {"refresh", &Seconds::refresh},
    {"evaluate", &Seconds::evaluate},
    {"checkpoint", &Seconds::checkpoint},
};

// JSON has no NaN; null stands for it.
Json number(double value) { return std::isnan(value) ? Json(nullptr) : Json(value); }
double from_number(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

Json numbers(const std::vector<double>& values) {
  Json json = Json::array();
  for (const double value : values) json.push_back(number(value));
  return json;
}

std::vector<double> from_numbers(const Json& json) {
  std::vector<double> values;
  for (const Json& value : json) values.push_back(from_number(value));
  return values;
}

constexpr const char* PriorAdjustedKey = "prior_adjusted";

void put_accuracies(Json& json, const Accuracies& accuracies) {
  json["accuracy"] = number(accuracies.accuracy);
  json["worst_group_accuracy"] = number(accuracies.worst_group_accuracy);
  json["average_group_accuracy"] = number(accuracies.average_group_accuracy);
  if (accuracies.adjusted_average_accuracy) {
    json["adjusted_average_accuracy"] = number(*accuracies.adjusted_average_accuracy);
  }
  json["group_accuracy"] = numbers(accuracies.group_accuracy);
}

void put_evaluation(Json& json, const Evaluation& evaluation) {
  put_accuracies(json, evaluation);
  if (evaluation.prior_adjusted) json[PriorAdjustedKey] = *evaluation.prior_adjusted;
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

void to_json(Json& json, const Accuracies& accuracies) { put_accuracies(json, accuracies); }

void from_json(const Json& json, Accuracies& accuracies) {
  accuracies.accuracy = from_number(json.at("accuracy"));
  accuracies.worst_group_accuracy = from_number(json.at("worst_group_accuracy"));
  accuracies.average_group_accuracy = from_number(json.at("average_group_accuracy"));
  accuracies.adjusted_average_accuracy.reset();
  if (const auto adjusted = json.find("adjusted_average_accuracy"); adjusted != json.end()) {
    accuracies.adjusted_average_accuracy = from_number(*adjusted);
  }
  accuracies.group_accuracy = from_numbers(json.at("group_accuracy"));
}

void to_json(Json& json, const Evaluation& evaluation) { put_evaluation(json, evaluation); }

void from_json(const Json& json, Evaluation& evaluation) {
  from_json(json, static_cast<Accuracies&>(evaluation));
  evaluation.prior_adjusted.reset();
  if (const auto adjusted = json.find(PriorAdjustedKey); adjusted != json.end()) {
    evaluation.prior_adjusted = adjusted->get<Accuracies>();
  }
}

void to_json(Json& json, const Seconds& seconds) {
  json["total"] = seconds.total();
  for (const NamedSeconds& part : Parts) json[part.name] = seconds.*part.value;
}

void from_json(const Json& json, Seconds& seconds) {
  for (const NamedSeconds& part : Parts) {
    // Runs of older versions refreshed nothing.
    const bool may_lack = part.value == &Seconds::refresh && !json.contains(part.name);
    seconds.*part.value = may_lack ? 0 : json.at(part.name).get<double>();
  }
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
  json["class_losses"] = numbers(record.class_losses);
  if (record.evaluation) put_evaluation(json, *record.evaluation);
  json["seconds"] = record.seconds;
}

void from_json(const Json& json, EpochRecord& record) {
  record.epoch = json.at("epoch").get<std::int64_t>();
  record.lr = json.at("lr").get<double>();
  record.train_loss = from_number(json.at("train_loss"));
  record.selected = json.at("selected").get<std::int64_t>();
  record.class_counts = json.at("class_counts").get<std::vector<std::int64_t>>();
  record.class_losses = from_numbers(json.at("class_losses"));
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
  json["follows_rate"] = summary.follows_rate;
  json["beta"] = summary.beta ? Json(*summary.beta) : Json(nullptr);
  json["seed"] = summary.seed;
  if (summary.logit_adjustment != 0) json["logit_adjustment"] = summary.logit_adjustment;
  json["evaluated_on"] = summary.evaluated_on;
  json["min_test_samples"] = summary.min_test_samples;
  json["held_out_count"] = summary.held_out_count;
  json["changed_labels"] = summary.changed_labels;
  json["n_train"] = summary.n_train;
  json["keep_count"] = summary.keep_count;
  json["epochs"] = summary.epochs;
  json["samples_seen"] = summary.samples_seen;
  if (summary.cost) {
    json["trained_samples"] = summary.cost->trained;
    json["forward_samples"] = summary.cost->forward;
  }
  put_evaluation(json, summary.evaluation);
  json["group_names"] = summary.group_names;
  json["group_sizes"] = summary.group_sizes;
  json["train_class_sizes"] = summary.train_class_sizes;
  json["seconds"] = summary.seconds;
}

void from_json(const Json& json, Summary& summary) {
  json.at("dataset").get_to(summary.dataset);
  json.at("imbalance").get_to(summary.imbalance);
  json.at("model").get_to(summary.model);
  json.at("group_by").get_to(summary.group_by);
  json.at("method").get_to(summary.method);
  summary.class_share = json.value("class_share", "");
  json.at("pruning_rate").get_to(summary.pruning_rate);
  summary.follows_rate = json.value("follows_rate", summary.method != "full");  // older runs
  const Json& beta = json.at("beta");
  summary.beta = beta.is_null() ? std::nullopt : std::optional(beta.get<double>());
  json.at("seed").get_to(summary.seed);
  summary.logit_adjustment = json.value("logit_adjustment", 0.0);
  // Older summaries lack these keys: they are of test samples and right labels.
  summary.evaluated_on = json.value("evaluated_on", "test");
  summary.min_test_samples = json.value("min_test_samples", std::int64_t{1});
  summary.held_out_count = json.value("held_out_count", std::int64_t{0});
  summary.changed_labels = json.value("changed_labels", std::int64_t{0});
  json.at("n_train").get_to(summary.n_train);
  json.at("keep_count").get_to(summary.keep_count);
  json.at("epochs").get_to(summary.epochs);
  json.at("samples_seen").get_to(summary.samples_seen);
  summary.cost.reset();
  if (json.contains("trained_samples")) {
    summary.cost = {.trained = json.at("trained_samples").get<std::int64_t>(),
                    .forward = json.at("forward_samples").get<std::int64_t>()};
  }
  summary.evaluation = json.get<Evaluation>();
  json.at("group_names").get_to(summary.group_names);
  json.at("group_sizes").get_to(summary.group_sizes);
  json.at("train_class_sizes").get_to(summary.train_class_sizes);
  summary.seconds = json.at("seconds").get<Seconds>();
}

std::string to_text(const Summary& summary) {
  Json json = summary;
  json[ChecksumKey] = checksum_of(json);
  return json.dump(2) + '\n';
}

Summary summary_from_text(const std::filesystem::path& path, std::string_view text) {
  try {
    Json json = Json::parse(text);
    const auto stored = json.at(ChecksumKey).get<std::string>();
    json.erase(ChecksumKey);
    if (const std::string found = checksum_of(json); found != stored) {
      refuse_file(path,
                  "was changed after the run wrote it: its checksum is {}, the contents have {}",
                  stored, found);
    }
    return json.get<Summary>();
  } catch (const Json::exception& error) {
    refuse_file(path, "is cut off or not a summary: {}", error.what());
  }
}

std::vector<EpochRecord> epochs_from_text(const std::filesystem::path& path,
                                          std::string_view text) {
  std::vector<EpochRecord> epochs;
  for (const std::string& line : lines_of(text)) {
    try {
      epochs.push_back(Json::parse(line).get<EpochRecord>());
    } catch (const Json::exception& error) {
      throw BadFile(fmt::format("{}, line {}: {}", path.string(), epochs.size() + 1, error.what()));
    }
  }
  return epochs;
}

}  // namespace rcap
