#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/images/resize_image.hpp"
#include "models/dino_options.hpp"
#include "rcap/core/make_pruner.hpp"
#include "rcap/core/scorers/divergence_scorer.hpp"

namespace rcap {

enum class OptimizerKind { Sgd, AdamW };

/// How the learning rate falls.
enum class ScheduleKind {
  CosineStep,   ///< after every batch, over the batches the run really makes
  CosineEpoch,  ///< after every epoch; the last one still has a rate above 0
  Constant,
};

enum class Precision { Fp32, Bf16 };

/// What the budget is split over and accuracy is reported for.
enum class GroupBy {
  Class,
  Group,  ///< class and attribute, where a data set has them: waterbird on land, ...
};

/// Everything that shapes one training run.
struct TrainOptions {
  // Data.
  std::string dataset = "fashion-mnist";
  std::filesystem::path data_folder;          ///< empty: the data set's usual place
  std::string label_column;                   ///< of a table; empty: as `TableOptions` has it
  std::optional<std::int64_t> train_samples;  ///< so many of them alone, see `DatasetOptions`
  double imbalance = 1.0;
  bool skip_bad = false;
  GroupBy group_by = GroupBy::Class;

  // Images; a table has no use for these. Everything but sizes is for training alone.
  bool fast_decode = false;  ///< JPEGs by a scaled cosine transform, where they shrink anyway
  int center_crop = 0;       ///< side of the central square that is cut out first; 0: none
  int resize = 0;            ///< the shorter side; 0: as `image_size` has it
  Interpolation interpolation = Interpolation::Bilinear;
  int image_size = 0;       ///< side of the images a network sees; 0: as they are stored
  bool random_crop = true;  ///< off: the crop is central in training too
  int crop_padding = 0;     ///< zeros around an image before its random crop
  bool flip = false;
  bool trivial_augment = false;

  // Method.
  std::string method = "rcap";
  PrunerOptions pruner;          ///< its seed and threads are those of the run
  DivergenceOptions divergence;  ///< how the scoring run of tdds listens
  std::filesystem::path scores;  ///< of a static method; empty: made by a scoring run
  /// Of ccs, metriq and tdds: only their scores are made (`score`); no method is trained.
  std::vector<std::string> make_scores;

  // Network and its training.
  std::string model = "small-cnn";
  std::filesystem::path weights;  ///< to start from; empty: random ones
  DinoOptions dino;               ///< of dinov2-mlp
  std::int64_t epochs = 60;
  std::int64_t batch_size = 64;
  std::int64_t grad_accumulation = 1;  ///< a batch is computed in so many parts, to save memory
  OptimizerKind optimizer = OptimizerKind::Sgd;
  double learning_rate = 0.05;
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 5e-4;
  ScheduleKind schedule = ScheduleKind::CosineStep;

  // Run.
  std::uint64_t seed = 0;
  int threads = 1;
  int data_workers = 1;  ///< threads that decode images
  std::string device = "cpu";
  Precision precision = Precision::Fp32;
  bool channels_last = true;
  std::int64_t evaluate_every = 0;  ///< epochs; 0: ten times a run. Always after the last
  double checkpoint_seconds = 30;   ///< between checkpoints
};

[[nodiscard]] std::string_view name_of(GroupBy group_by) noexcept;

/// Whether samples are rows of numbers, so that the options of images do not apply.
[[nodiscard]] bool trains_on_table(const TrainOptions& options) noexcept;

/// The name of an option on the command line and its value as TOML writes it.
using NamedOption = std::pair<std::string, std::string>;

/// Every option that shapes the result of a run, in a fixed order: what `options.toml` and
/// --dry-run show, and what must agree when a run is resumed.
[[nodiscard]] std::vector<NamedOption> list_options(const TrainOptions& options);

/// @throws InvalidArgument  names the first option out of range, or that does not go with another
void check_options(const TrainOptions& options);

/// @throws InvalidArgument  the network needs weights to start from, and none are given
void require_weights(const TrainOptions& options);

}  // namespace rcap
