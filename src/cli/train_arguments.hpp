#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "cli/command_line.hpp"
#include "cli/machine.hpp"
#include "cli/method_options.hpp"
#include "train/options.hpp"

namespace rcap::cli {

/// What the words say; what they leave open comes from the preset.
struct TrainArguments {
  std::string preset;
  std::string dataset, label_column, method, model, device;
  std::string make_scores;  ///< methods, with commas between
  std::filesystem::path data, weights, scores, out;
  MethodArguments methods;
  std::optional<double> imbalance, lr, momentum, weight_decay, checkpoint_seconds;
  std::optional<std::int64_t> train_samples, epochs, batch_size, grad_accumulation, evaluate_every,
      score_epochs, score_window;
  std::optional<int> center_crop, resize, image_size, crop_padding, data_workers;
  std::optional<bool> random_crop, flip, trivial_augment, fast_decode;
  std::optional<bool> nesterov, channels_last, skip_bad, meet_rate;
  std::optional<GroupBy> group_by;
  std::optional<Interpolation> interpolation;
  std::optional<DinoFeatures> features;
  std::optional<HeadActivation> head_activation;
  std::optional<OptimizerKind> optimizer;
  std::optional<ScheduleKind> schedule;
  std::optional<Precision> precision;
  std::uint64_t seed = 0;
  int threads = available_threads();
  bool resume = false;
  bool dry_run = false;
  bool quiet = false;
  bool json = false;
};

/// Adds every option of a training run to a command line.
void add_options(CommandLine& line, TrainArguments& arguments);

/// The options of the run: what was given, else what the preset says, else the defaults.
/// A table without a preset has that of tables.
/// @throws InvalidArgument  an unknown preset or method; an option of images for a table
[[nodiscard]] TrainOptions resolve(const TrainArguments& arguments);

/// Whether the preset's experiment starts from official weights and none are given.
[[nodiscard]] bool lacks_weights(const TrainArguments& arguments);

}  // namespace rcap::cli
