#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/images/resize_image.hpp"
#include "models/dino_options.hpp"
#include "rcap/core/make_pruner.hpp"
#include "rcap/core/options.hpp"

namespace rcap {

enum class OptimizerKind { Sgd, AdamW };

/// How the learning rate falls.
enum class ScheduleKind {
  CosineStep,   ///< after every batch, over the batches the run actually makes
  CosineEpoch,  ///< after every epoch; the last one still has a rate above 0
  Constant,
};

enum class Precision { Fp32, Bf16 };

/// What the budget is split over and accuracy is reported for.
enum class GroupBy {
  Class,
  Group,  ///< class and attribute, if a data set has them: waterbird on land, ...
};

/// Which samples accuracies are measured on.
enum class Evaluate {
  Test,
  HeldOut,  ///< the training samples that `hold_out` sets aside
};

/// Everything that shapes one training run. Members are named after their options.
struct TrainOptions {
  // Data.
  std::string dataset = "fashion-mnist";
  std::filesystem::path data;                 ///< empty: the data set's usual place
  std::string label_column;                   ///< of a table; empty: as in `TableOptions`
  std::optional<std::int64_t> train_samples;  ///< how many to keep, see `DatasetOptions`
  double imbalance = 1.0;
  double hold_out = 0;  ///< the fraction of every group's training samples that is not trained on
  Evaluate evaluate = Evaluate::Test;
  std::int64_t min_test_samples = 1;  ///< of a group, to count in worst and average accuracy
  double label_noise = 0;             ///< the fraction of the training labels that is made wrong
  bool skip_bad = false;
  GroupBy group_by = GroupBy::Class;

  // Images; do not apply to a table. Everything but sizes is for training only.
  bool fast_decode = false;  ///< JPEGs by a scaled cosine transform, if they shrink anyway
  int center_crop = 0;       ///< side of the central square that is cut out first; 0: none
  int resize = 0;            ///< the shorter side; 0: as `image_size`
  Interpolation interpolation = Interpolation::Bilinear;
  int image_size = 0;       ///< side of the images a network sees; 0: as they are stored
  bool random_crop = true;  ///< off: the crop is central in training too
  int crop_padding = 0;     ///< zeros around an image before its random crop
  bool flip = false;
  bool trivial_augment = false;

  // Method.
  std::string method = "rcap";
  PrunerOptions pruner;   ///< its seed, threads, epochs and batch size are those of the run
  bool meet_rate = true;  ///< infobatch: the run is shortened to the pruning rate
  double loss_scale = 1;  ///< factor of the losses that the method gets
  std::int64_t score_epochs = 10;        ///< tdds: epochs its scores are made from
  std::int64_t el2n_epochs = 20;         ///< el2n: epochs of its scoring run
  std::int64_t dual_epochs = 30;         ///< dual: epochs its scores are made from
  std::int64_t score_window = 10;        ///< epochs per window, of all scores that have windows
  std::filesystem::path scores;          ///< of a static method; empty: made by a scoring run
  std::vector<std::string> make_scores;  ///< methods to make scores for, instead of training one

  // Network and its training.
  std::string model = "small-cnn";
  std::filesystem::path weights;  ///< to start from; empty: random ones
  double head_scale = 1;          ///< factor of the last layer's weights at the start
  DinoOptions dino;               ///< of dinov2-mlp
  std::int64_t epochs = 60;
  std::int64_t batch_size = 64;
  std::int64_t grad_accumulation = 1;  ///< parts in which a batch is computed, to save memory
  OptimizerKind optimizer = OptimizerKind::Sgd;
  double lr = 0.05;  ///< learning rate at the start
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 5e-4;
  ScheduleKind schedule = ScheduleKind::CosineStep;
  double logit_adjustment = 0;  ///< tau: outputs plus tau times the trained prior are trained

  // Run.
  std::uint64_t seed = 0;
  int threads = 1;
  std::optional<int> data_workers;  ///< threads that decode images; empty: `threads`
  std::string device = "cpu";
  Precision precision = Precision::Fp32;
  bool channels_last = true;
  std::int64_t evaluate_every = 0;  ///< epochs; 0: ten times per run. Always after the last
  double checkpoint_seconds = 30;   ///< between checkpoints
};

/// Lists the options of a run without those of its method.
void list_run_options(OptionFields& fields, TrainOptions& options);
/// Lists all options of a run, including those of its method. Those that do not apply to the data
/// set, method, network and optimizer that are set say so.
void list_options(OptionFields& fields, TrainOptions& options);

/// Lists the option `preset`, which names the starting values of the others.
void list_preset(OptionFields& fields, std::string& preset);

/// The options of a run: what is given; otherwise what its preset says; otherwise the defaults. A
/// table without a preset gets the preset for tables. Every way to start a run ends here: command
/// lines, files, plans.
///
/// @param given   options by name, "preset" among them; each at most once
/// @param reader  whose spelling the messages use
/// @throws InvalidArgument  an unknown option, preset or method (names the nearest), one that
///                          does not apply, a value out of range, values that contradict each other
[[nodiscard]] TrainOptions make_options(std::span<const GivenOption> given, Reader reader);

/// The options of a run that is resumed: those it began with. Options given in addition may
/// only change what has no effect on results.
/// @throws StateMismatch    another value for something that has; names each with both values
/// @throws InvalidArgument  as `make_options` does
[[nodiscard]] TrainOptions make_options_to_go_on(std::span<const GivenOption> stored,
                                                 std::span<const GivenOption> given, Reader reader);

/// The options, with those filled in that were left open and follow from others.
[[nodiscard]] TrainOptions completed(TrainOptions options);

/// @throws InvalidArgument  as `make_options` does, for values
void check_options(const TrainOptions& options, Reader reader = Reader::Code);

/// Every option that applies and has a value, in a fixed order; those without effect on results
/// only if they are not at their defaults. `make_options` turns it back into the same options.
[[nodiscard]] std::vector<GivenOption> words_of(const TrainOptions& options);

/// The word of one of them; empty if it is not among them.
[[nodiscard]] std::string word_of(const TrainOptions& options, std::string_view name);

/// The same as TOML: the contents of `options.toml`, and what a dry run prints.
[[nodiscard]] std::string to_toml(const TrainOptions& options);

/// How the options that affect results differ: "epochs was 60, now 20; ..."; empty if they do not.
[[nodiscard]] std::string difference_of(const TrainOptions& before, const TrainOptions& after,
                                        Reader reader);

/// Whether the pruning rate has an effect. Not on full, nor on a method whose own rule decides how
/// many samples are left.
[[nodiscard]] bool follows_rate(const TrainOptions& options);

/// The options of the run's method, with seed, threads, epochs and batch size of the run.
[[nodiscard]] PrunerOptions pruner_options_of(const TrainOptions& options);

/// Whether the preset's experiment starts from official weights, and none are given.
[[nodiscard]] bool lacks_weights(std::span<const GivenOption> given);

/// Whether samples are rows of numbers, so that the options for images do not apply.
[[nodiscard]] bool trains_on_table(const TrainOptions& options) noexcept;

/// @throws InvalidArgument  the network needs weights to start from, and none are given
void require_weights(const TrainOptions& options);

}  // namespace rcap
