#include "train/options.hpp"

#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "rcap/core/error.hpp"

namespace rcap {
namespace {

std::string_view name_of(OptimizerKind kind) {
  return kind == OptimizerKind::Sgd ? "sgd" : "adamw";
}

std::string_view name_of(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::CosineStep:
      return "cosine";
    case ScheduleKind::CosineEpoch:
      return "cosine-epoch";
    case ScheduleKind::Constant:
      return "constant";
  }
  throw InternalError("unknown schedule");
}

std::string_view name_of(Precision precision) {
  return precision == Precision::Fp32 ? "fp32" : "bf16";
}

std::string_view name_of(DinoFeatures features) {
  switch (features) {
    case DinoFeatures::ClsRegPatch:
      return "cls-reg-patch";
    case DinoFeatures::Cls2Avg:
      return "cls2-avg";
    case DinoFeatures::Cls3:
      return "cls3";
  }
  throw InternalError("unknown features");
}

std::string_view name_of(HeadActivation activation) {
  switch (activation) {
    case HeadActivation::Relu:
      return "relu";
    case HeadActivation::Gelu:
      return "gelu";
    case HeadActivation::None:
      return "none";
  }
  throw InternalError("unknown activation");
}

std::string_view name_of(InitialLoss loss) {
  return loss == InitialLoss::Forward ? "forward" : "log-c";
}

std::string_view name_of(LossClip clip) {
  return clip == LossClip::ClassMax ? "class-max" : "log-c";
}

/// A TOML string; names and paths hold nothing but characters, quotes and backslashes.
std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

/// Collects options under the names of the command line.
class OptionList {
 public:
  void text(std::string name, std::string_view value) {
    options_.emplace_back(std::move(name), quoted(value));
  }
  template <class Number>
  void number(std::string name, Number value) {
    options_.emplace_back(std::move(name), fmt::format("{}", value));
  }
  void flag(std::string name, bool value) { text(std::move(name), value ? "on" : "off"); }

  std::vector<NamedOption> take() { return std::move(options_); }

 private:
  std::vector<NamedOption> options_;
};

void list_scoring_options(const DivergenceOptions& divergence, OptionList& list) {
  list.number("score-epochs", divergence.epochs);
  list.number("score-window", divergence.window);
}

void list_image_options(const TrainOptions& options, OptionList& list) {
  list.flag("fast-decode", options.fast_decode);
  list.number("center-crop", options.center_crop);
  list.number("resize", options.resize);
  list.text("interpolation",
            options.interpolation == Interpolation::Bilinear ? "bilinear" : "bicubic");
  list.number("image-size", options.image_size);
  list.flag("random-crop", options.random_crop);
  list.number("crop-padding", options.crop_padding);
  list.flag("flip", options.flip);
  list.flag("trivial-augment", options.trivial_augment);
}

void list_method_options(const TrainOptions& options, OptionList& list) {
  if (!options.make_scores.empty()) {
    list.text("make-scores", fmt::format("{}", fmt::join(options.make_scores, ",")));
    return list_scoring_options(options.divergence, list);
  }
  const PrunerOptions& pruner = options.pruner;
  list.text("method", options.method);
  list.number("pruning-rate", pruner.common.pruning_rate);
  if (options.method == "rcap") {
    list.number("beta", pruner.rcap.beta);
    list.text("class-share", name_of(pruner.rcap.class_share));
    list.text("initial-loss", name_of(pruner.rcap.initial_loss));
    list.text("clip", name_of(pruner.rcap.clip));
    list.number("min-per-class", pruner.rcap.min_per_class);
  } else if (options.method == "infobatch") {
    list.number("prune-probability", pruner.infobatch.prune_probability);
    list.number("annealing", pruner.infobatch.annealing);
    list.flag("meet-rate", pruner.infobatch.batch_size.has_value());
  } else if (options.method == "ucb" || options.method == "epsilon-greedy") {
    const BanditOptions& bandit = options.method == "ucb" ? pruner.ucb : pruner.epsilon_greedy;
    list.number("loss-weight", bandit.learning_rate);
    list.number("period", bandit.period);
    if (options.method == "ucb") list.number("confidence", bandit.confidence);
    if (options.method == "epsilon-greedy") list.number("epsilon", bandit.epsilon);
  } else if (options.method == "rs2-replace") {
    list.flag("stratified", pruner.rs2_stratified);
  } else if (options.method == "ccs") {
    list.number("hard-cutoff", pruner.ccs.hard_cutoff);
    list.number("strata", pruner.ccs.strata);
  } else if (options.method == "metriq") {
    list.text("quota", pruner.metriq.quota == MetriqQuota::Density ? "density" : "size");
  } else if (options.method == "tdds") {
    list_scoring_options(options.divergence, list);
  }
  if (!options.scores.empty()) list.text("scores", options.scores.string());
}

void require(bool holds, std::string_view option, auto value, std::string_view rule) {
  if (!holds) throw InvalidArgument(fmt::format("{} is {}; it must be {}", option, value, rule));
}

void check_table_options(const TrainOptions& options) {
  if (!trains_on_table(options)) {
    require(options.label_column.empty(), "--label-column", options.label_column,
            "left out: only --dataset table has such a column");
    return;
  }
  require(options.model == "mlp", "--dataset table with --model", options.model,
          "mlp: the other networks read images");
}

void require_size(int size, std::string_view option) {
  constexpr int LargestSize = 4096;
  require(size >= 0 && size <= LargestSize, option, size, fmt::format("from 0 to {}", LargestSize));
}

}  // namespace

std::string_view name_of(GroupBy group_by) noexcept {
  return group_by == GroupBy::Class ? "class" : "group";
}

bool trains_on_table(const TrainOptions& options) noexcept { return options.dataset == "table"; }

std::vector<NamedOption> list_options(const TrainOptions& options) {
  OptionList list;
  list.text("dataset", options.dataset);
  if (!options.data_folder.empty()) list.text("data", options.data_folder.string());
  if (!options.label_column.empty()) list.text("label-column", options.label_column);
  // Only where it is set, so that runs begun without it can be resumed.
  if (options.train_samples) list.number("train-samples", *options.train_samples);
  list.number("imbalance", options.imbalance);
  if (!trains_on_table(options)) list.flag("skip-bad", options.skip_bad);
  list.text("group-by", name_of(options.group_by));
  if (!trains_on_table(options)) list_image_options(options, list);
  list_method_options(options, list);
  list.text("model", options.model);
  if (!options.weights.empty()) list.text("weights", options.weights.string());
  if (options.model == "dinov2-mlp") {
    list.text("features", name_of(options.dino.features));
    list.text("head-activation", name_of(options.dino.activation));
  }
  list.number("epochs", options.epochs);
  list.number("batch-size", options.batch_size);
  list.number("grad-accumulation", options.grad_accumulation);
  list.text("optimizer", name_of(options.optimizer));
  list.number("lr", options.learning_rate);
  if (options.optimizer == OptimizerKind::Sgd) {
    list.number("momentum", options.momentum);
    list.flag("nesterov", options.nesterov);
  }
  list.number("weight-decay", options.weight_decay);
  list.text("schedule", name_of(options.schedule));
  list.number("seed", options.seed);
  list.number("threads", options.threads);
  list.text("device", options.device);
  list.text("precision", name_of(options.precision));
  list.flag("channels-last", options.channels_last);
  list.number("evaluate-every", options.evaluate_every);
  return list.take();
}

void check_options(const TrainOptions& options) {
  const double rate = options.pruner.common.pruning_rate;
  require(rate >= 0 && rate < 1, "--pruning-rate", rate, "at least 0 and below 1");
  check_table_options(options);
  require(options.epochs >= 1, "--epochs", options.epochs, "at least 1");
  require(options.batch_size >= 1, "--batch-size", options.batch_size, "at least 1");
  require(options.grad_accumulation >= 1 && options.grad_accumulation <= options.batch_size,
          "--grad-accumulation", options.grad_accumulation, "from 1 to the batch size");
  require(std::isfinite(options.learning_rate) && options.learning_rate > 0, "--lr",
          options.learning_rate, "above 0");
  require(options.momentum >= 0 && options.momentum < 1, "--momentum", options.momentum,
          "at least 0 and below 1");
  require(!options.nesterov || options.momentum > 0, "--nesterov on with --momentum",
          options.momentum, "above 0");
  require(std::isfinite(options.weight_decay) && options.weight_decay >= 0, "--weight-decay",
          options.weight_decay, "at least 0");
  require_size(options.center_crop, "--center-crop");
  require_size(options.resize, "--resize");
  require_size(options.image_size, "--image-size");
  require(options.resize == 0 || options.image_size == 0 || options.resize >= options.image_size,
          "--resize", options.resize, fmt::format("at least --image-size, {}", options.image_size));
  require(options.crop_padding >= 0 && options.crop_padding <= 1024, "--crop-padding",
          options.crop_padding, "from 0 to 1024");
  require(options.data_workers >= 1, "--data-workers", options.data_workers, "at least 1");
  require(options.evaluate_every >= 0, "--evaluate-every", options.evaluate_every, "at least 0");
  require(options.checkpoint_seconds >= 0, "--checkpoint-seconds", options.checkpoint_seconds,
          "at least 0");
}

void require_weights(const TrainOptions& options) {
  if (options.model == "dinov2-mlp" && options.weights.empty()) {
    throw InvalidArgument(
        "--model dinov2-mlp trains a head on a frozen backbone, which must know something: give "
        "its "
        "weights with --weights FILE (docs/models.md tells where they come from)");
  }
}

}  // namespace rcap
