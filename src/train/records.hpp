#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace rcap {

/// How many answers are right; a group without samples has an accuracy of NaN, null in JSON.
struct Accuracies {
  double accuracy = 0;
  double worst_group_accuracy = 0;
  double average_group_accuracy = 0;
  /// Groups weighted by their fraction of the training samples; only if groups are not the classes.
  std::optional<double> adjusted_average_accuracy;
  std::vector<double> group_accuracy;
};

/// The result of an evaluation: the accuracies of the network as it is, and with the prior of what
/// was trained taken out of its outputs.
struct Evaluation : Accuracies {
  std::optional<Accuracies> prior_adjusted;  ///< empty in runs of older versions
};

/// Where the time of a run, or of an epoch, went.
struct Seconds {
  double setup = 0;         ///< opening the data, making the network
  double scoring = 0;       ///< the scoring run of a static method
  double initial_pass = 0;  ///< losses of all samples before training
  double select = 0;        ///< choosing samples and their order
  double data_wait = 0;     ///< until a batch was ready
  double train = 0;         ///< forward, backward, update
  double observe = 0;       ///< handing losses to the pruner
  double refresh = 0;       ///< losses of samples that the epoch left out
  double evaluate = 0;
  double checkpoint = 0;

  [[nodiscard]] double total() const noexcept;
  Seconds& operator+=(const Seconds& other) noexcept;
};

/// Samples that went through the network, counted each time; evaluations are not included. Unlike
/// seconds they are the same on every machine.
struct SampleCost {
  std::int64_t trained = 0;  ///< forward and backward
  std::int64_t forward = 0;  ///< forward only

  SampleCost& operator+=(const SampleCost& other) noexcept {
    trained += other.trained;
    forward += other.forward;
    return *this;
  }
};

/// One line of `epochs.jsonl`.
struct EpochRecord {
  std::int64_t epoch = 0;
  double lr = 0;          ///< of the last batch
  double train_loss = 0;  ///< mean over the selected samples, without weights; as trained
  std::int64_t selected = 0;
  std::vector<std::int64_t> class_counts;
  /// Mean loss of the selected samples of each class, each loss as it was when the sample's batch
  /// was trained on; NaN for a class without any.
  std::vector<double> class_losses;
  std::optional<Evaluation> evaluation;
  Seconds seconds;
};

/// `summary.json`.
struct Summary {
  std::string dataset;
  double imbalance = 1;
  std::string model;
  std::string group_by;  ///< "class" or "group"
  std::string method;
  std::string class_share;     ///< empty for methods that have none
  double pruning_rate = 0;     ///< 0 if it follows none
  bool follows_rate = true;    ///< not full, nor methods whose own rule decides what is left
  std::optional<double> beta;  ///< of rcap
  std::uint64_t seed = 0;
  double logit_adjustment = 0;
  std::string evaluated_on = "test";  ///< what accuracies are measured on: "test" or "held-out"
  std::int64_t min_test_samples = 1;  ///< groups with fewer do not count in worst and average
  std::int64_t held_out_count = 0;    ///< training samples that were not trained on
  std::int64_t changed_labels = 0;    ///< training labels that were made wrong
  std::int64_t n_train = 0;           ///< without those held out
  std::int64_t keep_count = 0;
  std::int64_t epochs = 0;
  std::int64_t samples_seen = 0;  ///< trained on in its epochs
  /// Of the whole run, including its scoring run; empty if it was not counted, as in older runs.
  std::optional<SampleCost> cost;
  std::vector<std::string> group_names;
  std::vector<std::int64_t> group_sizes;        ///< of the evaluation split
  std::vector<std::int64_t> train_class_sizes;  ///< of the training split
  Evaluation evaluation;
  Seconds seconds;
};

// Both directions are exact: a record read back equals the record written.
void to_json(nlohmann::ordered_json& json, const Accuracies& accuracies);
void to_json(nlohmann::ordered_json& json, const Evaluation& evaluation);
void to_json(nlohmann::ordered_json& json, const Seconds& seconds);
void to_json(nlohmann::ordered_json& json, const EpochRecord& record);
void to_json(nlohmann::ordered_json& json, const Summary& summary);
void from_json(const nlohmann::ordered_json& json, Accuracies& accuracies);
void from_json(const nlohmann::ordered_json& json, Evaluation& evaluation);
void from_json(const nlohmann::ordered_json& json, Seconds& seconds);
void from_json(const nlohmann::ordered_json& json, EpochRecord& record);
void from_json(const nlohmann::ordered_json& json, Summary& summary);

/// The text of `summary.json`: the summary, and a checksum of it as the last key.
[[nodiscard]] std::string to_text(const Summary& summary);

/// @throws BadFile  the text is cut off, or was changed by hand; begins with `path`
[[nodiscard]] Summary summary_from_text(const std::filesystem::path& path, std::string_view text);

/// The records of `epochs.jsonl`.
/// @throws BadFile  a line is not a record; begins with `path` and names the line
[[nodiscard]] std::vector<EpochRecord> epochs_from_text(const std::filesystem::path& path,
                                                        std::string_view text);

}  // namespace rcap
