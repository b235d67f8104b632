#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "train/records.hpp"

namespace rcap {

/// What a made-up run is and how it came out; everything else follows from it.
struct SampleRun {
  std::string method = "rcap";
  std::string class_share = "robust";  ///< of rcap and, if another, of balanced
  double pruning_rate = 0.9;
  bool follows_rate = true;  ///< never of full
  double beta = 1;
  std::uint64_t seed = 0;
  double worst = 0.5;  ///< accuracy of class 0; class 1 has `other`
  double other = 0.9;
  double train_seconds = 10;
  double scoring_seconds = 0;
  std::string dataset = "fashion-mnist";
  double imbalance = 100;
  std::int64_t epochs = 4;
  bool counts_samples = true;  ///< off: as older runs
  std::int64_t scoring_samples = 0;
  std::int64_t forward_samples = 0;
  std::string evaluated_on = "test";
  std::int64_t min_test_samples = 1;
  std::int64_t changed_labels = 0;
  double logit_adjustment = 0;
  /// Prior-adjusted accuracy of class 0; class 1 has `other`. Empty: as older runs.
  std::optional<double> adjusted_worst = std::nullopt;
};

/// Writes a run folder as `rcap train` leaves it.
void write_run(const std::filesystem::path& folder, const SampleRun& run);

}  // namespace rcap
