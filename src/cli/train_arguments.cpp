#include "cli/train_arguments.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "data/open_dataset.hpp"
#include "train/presets.hpp"

namespace rcap::cli {
namespace {

template <class Names>
std::string names_of(const Names& entries) {
  std::vector<std::string_view> names;
  for (const auto& entry : entries) names.push_back(entry.name);
  return fmt::format("{}", fmt::join(names, " "));
}

/// "a,b" as a and b.
std::vector<std::string> words_in(const std::string& list) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    words.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

void add_on_off(CommandLine& line, const std::string& name, std::optional<bool>& value,
                const std::string& meaning) {
  line.choice(name, value, {{"on", true}, {"off", false}}, meaning);
}

void add_data_options(CommandLine& line, TrainArguments& arguments) {
  line.group("What");
  line.text("--preset", arguments.preset, "NAME",
            names_of(presets()) + "; sets what other options leave open [fashion-mnist-lt]");
  line.text("--dataset", arguments.dataset, "NAME", names_of(datasets()));
  line.path("--data", arguments.data, "DIR", "where its files are; of a table the file itself too");
  line.text("--label-column", arguments.label_column, "NAME",
            "table: the column of the classes; of a .npy file its number [label; the last]");
  line.number("--train-samples", arguments.train_samples, "N",
              "keep N training samples, classes in proportion [all]");
  line.number("--imbalance", arguments.imbalance, "F",
              "make it long-tailed: largest class F times the smallest");
  add_on_off(line, "--skip-bad", arguments.skip_bad, "leave out images that cannot be decoded");
  line.choice("--group-by", arguments.group_by,
              {{"class", GroupBy::Class}, {"group", GroupBy::Group}},
              "what the budget is split over and accuracy told for [class]");
}

void add_image_options(CommandLine& line, TrainArguments& arguments) {
  line.group("Images");
  line.number("--center-crop", arguments.center_crop, "C", "cut out the central C x C first");
  line.number("--resize", arguments.resize, "S", "shorter side before the crop [--image-size]");
  line.choice("--interpolation", arguments.interpolation,
              {{"bilinear", Interpolation::Bilinear}, {"bicubic", Interpolation::Bicubic}},
              "of the resize, antialiased [bilinear]");
  line.number("--image-size", arguments.image_size, "S",
              "side of the images a network sees; needed where they differ in size");
  add_on_off(line, "--random-crop", arguments.random_crop,
             "crop anywhere in training, or centrally");
  line.number("--crop-padding", arguments.crop_padding, "P",
              "random crop after P zeros were put around");
  add_on_off(line, "--flip", arguments.flip, "flip every second image");
  add_on_off(line, "--trivial-augment", arguments.trivial_augment,
             "one random operation on each image (TrivialAugmentWide)");
  add_on_off(line, "--fast-decode", arguments.fast_decode,
             "decode JPEGs at a fraction of their size; close to, not equal to the whole [off]");
}

void add_training_options(CommandLine& line, TrainArguments& arguments) {
  line.group("Training");
  line.text("--model", arguments.model, "NAME", "see rcap model list");
  line.path("--weights", arguments.weights, "FILE",
            "weights to start from, safetensors or .pth; another head is left out");
  line.choice("--features", arguments.features,
              {{"cls-reg-patch", DinoFeatures::ClsRegPatch},
               {"cls2-avg", DinoFeatures::Cls2Avg},
               {"cls3", DinoFeatures::Cls3}},
              "dinov2-mlp: what the head sees [cls-reg-patch]");
  line.choice("--head-activation", arguments.head_activation,
              {{"relu", HeadActivation::Relu},
               {"gelu", HeadActivation::Gelu},
               {"none", HeadActivation::None}},
              "dinov2-mlp: between the layers of the head [relu]");
  line.number("--epochs", arguments.epochs, "E", "epochs, the same for every method");
  line.number("--batch-size", arguments.batch_size, "B", "samples a step");
  line.number("--grad-accumulation", arguments.grad_accumulation, "K",
              "compute a batch in K parts, to save memory [1]");
  line.choice("--optimizer", arguments.optimizer,
              {{"sgd", OptimizerKind::Sgd}, {"adamw", OptimizerKind::AdamW}}, "how weights change");
  line.number("--lr", arguments.lr, "LR", "learning rate at the start");
  line.number("--momentum", arguments.momentum, "M", "of sgd");
  add_on_off(line, "--nesterov", arguments.nesterov, "Nesterov's momentum");
  line.number("--weight-decay", arguments.weight_decay, "W", "pull of all weights to 0");
  line.choice("--schedule", arguments.schedule,
              {{"cosine", ScheduleKind::CosineStep},
               {"cosine-epoch", ScheduleKind::CosineEpoch},
               {"constant", ScheduleKind::Constant}},
              "how the rate falls: after each batch, after each epoch, not");
}

void add_run_options(CommandLine& line, TrainArguments& arguments) {
  line.group("Run");
  line.path("--out", arguments.out, "DIR", "where results go; required");
  line.flag("--resume", arguments.resume, "go on with the run in --out");
  line.flag("--dry-run", arguments.dry_run, "print all options as they would be used, then stop");
  line.number("--seed", arguments.seed, "S", "of weights, order, augmentation and selection");
  line.number("--evaluate-every", arguments.evaluate_every, "K",
              "epochs between evaluations; always after the last [a tenth of the run]");
  line.number("--checkpoint-seconds", arguments.checkpoint_seconds, "T",
              "between checkpoints [30]");
  line.text("--device", arguments.device, "NAME", "cpu cuda cuda:N [cpu]");
  line.choice("--precision", arguments.precision,
              {{"fp32", Precision::Fp32}, {"bf16", Precision::Bf16}}, "of the arithmetic [fp32]");
  add_on_off(line, "--channels-last", arguments.channels_last,
             "memory format that is faster on most machines [on]");
  line.threads(arguments.threads,
               "threads; sums round differently with another number, so results differ slightly");
  line.number("--data-workers", arguments.data_workers, "N", "threads that decode [--threads]");
  line.config();
  line.flag("--json", arguments.json, "print the summary as JSON");
  line.flag("--quiet", arguments.quiet, "print no progress");
}

template <class Value>
void take(const std::optional<Value>& given, Value& value) {
  if (given) value = *given;
}

void take(const std::string& given, std::string& value) {
  if (!given.empty()) value = given;
}

const Preset& preset_of(const TrainArguments& arguments) {
  if (!arguments.preset.empty()) return find_preset(arguments.preset);
  return arguments.dataset == "table" ? find_preset("table") : presets().front();
}

void take_image_options(const TrainArguments& arguments, TrainOptions& options) {
  take(arguments.center_crop, options.center_crop);
  take(arguments.resize, options.resize);
  take(arguments.interpolation, options.interpolation);
  take(arguments.image_size, options.image_size);
  take(arguments.random_crop, options.random_crop);
  take(arguments.crop_padding, options.crop_padding);
  take(arguments.flip, options.flip);
  take(arguments.trivial_augment, options.trivial_augment);
  take(arguments.fast_decode, options.fast_decode);
}

/// What a preset says about images rows of a table pass by; to say it oneself is a mistake.
void refuse_image_options(const TrainArguments& arguments) {
  const std::pair<const char*, bool> options[] = {
      {"--center-crop", arguments.center_crop.has_value()},
      {"--resize", arguments.resize.has_value()},
      {"--interpolation", arguments.interpolation.has_value()},
      {"--image-size", arguments.image_size.has_value()},
      {"--random-crop", arguments.random_crop.has_value()},
      {"--crop-padding", arguments.crop_padding.has_value()},
      {"--flip", arguments.flip.has_value()},
      {"--trivial-augment", arguments.trivial_augment.has_value()},
      {"--fast-decode", arguments.fast_decode.has_value()},
      {"--skip-bad", arguments.skip_bad.has_value()}};
  for (const auto& [name, is_given] : options) {
    if (!is_given) continue;
    throw InvalidArgument(
        fmt::format("{} is for images; --dataset table has rows of numbers, leave it out", name));
  }
}

}  // namespace

void add_options(CommandLine& line, TrainArguments& arguments) {
  add_data_options(line, arguments);
  line.group("How samples are chosen");
  line.text("--method", arguments.method, "NAME",
            fmt::format("{} [rcap]", fmt::join(method_names(), " ")));
  add_pruning_rate(line, arguments.methods);
  line.path("--scores", arguments.scores, "FILE",
            "ccs, metriq, tdds: scores of an earlier run, else a scoring run is made");
  line.text("--make-scores", arguments.make_scores, "METHODS",
            "e.g. ccs,metriq,tdds: train on everything, leave their scores in --out, and stop");
  line.number("--score-epochs", arguments.score_epochs, "T", "tdds: epochs listened to [10]");
  line.number("--score-window", arguments.score_window, "J", "tdds: epochs in a window [10]");
  add_on_off(line, "--meet-rate", arguments.meet_rate,
             "infobatch: shorten the run to --pruning-rate; off: as published [on]");
  add_image_options(line, arguments);
  add_training_options(line, arguments);
  add_run_options(line, arguments);
  add_method_options(line, arguments.methods);
}

TrainOptions resolve(const TrainArguments& arguments) {
  const Preset& preset = preset_of(arguments);
  TrainOptions options;
  preset.apply(options);
  if (!arguments.dataset.empty() && arguments.dataset != options.dataset &&
      arguments.preset.empty()) {
    options.imbalance = 1;  // the long tail belongs to the default preset's own data
  }
  take(arguments.dataset, options.dataset);
  options.data_folder = arguments.data;
  take(arguments.label_column, options.label_column);
  options.train_samples = arguments.train_samples;
  take(arguments.imbalance, options.imbalance);
  take(arguments.skip_bad, options.skip_bad);
  take(arguments.group_by, options.group_by);
  if (trains_on_table(options)) refuse_image_options(arguments);
  take_image_options(arguments, options);
  take(arguments.method, options.method);
  require_method(options.method);
  options.pruner =
      resolve(arguments.methods, preset_beta(preset, arguments.methods.pruner.common.pruning_rate));
  options.scores = arguments.scores;
  options.make_scores = words_in(arguments.make_scores);
  take(arguments.score_epochs, options.divergence.epochs);
  take(arguments.score_window, options.divergence.window);
  take(arguments.model, options.model);
  options.weights = arguments.weights;
  take(arguments.features, options.dino.features);
  take(arguments.head_activation, options.dino.activation);
  take(arguments.epochs, options.epochs);
  take(arguments.batch_size, options.batch_size);
  take(arguments.grad_accumulation, options.grad_accumulation);
  take(arguments.optimizer, options.optimizer);
  take(arguments.lr, options.learning_rate);
  take(arguments.momentum, options.momentum);
  take(arguments.nesterov, options.nesterov);
  take(arguments.weight_decay, options.weight_decay);
  take(arguments.schedule, options.schedule);
  options.seed = arguments.seed;
  options.threads = arguments.threads;
  options.data_workers = arguments.data_workers.value_or(arguments.threads);
  take(arguments.device, options.device);
  take(arguments.precision, options.precision);
  take(arguments.channels_last, options.channels_last);
  take(arguments.evaluate_every, options.evaluate_every);
  take(arguments.checkpoint_seconds, options.checkpoint_seconds);
  if (arguments.meet_rate.value_or(true)) options.pruner.infobatch.batch_size = options.batch_size;
  return options;
}

bool lacks_weights(const TrainArguments& arguments) {
  return preset_of(arguments).starts_from_weights && arguments.weights.empty();
}

}  // namespace rcap::cli
