#include "train/options.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/quoting.hpp"
#include "base/utf8.hpp"
#include "data/open_dataset.hpp"
#include "io/toml_options.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/run_cost.hpp"
#include "train/presets.hpp"
#include "train/score_kinds.hpp"

namespace rcap {
namespace {

constexpr const char* ForImages = "is for images; a table has none, so leave it out";

template <class Entries>
std::string names_of(const Entries& entries) {
  std::vector<std::string_view> names;
  for (const auto& entry : entries) names.push_back(entry.name);
  return fmt::format("{}", fmt::join(names, " "));
}

// A run lists its options a dozen times, and none of these texts depends on a run: they are made
// once.

template <class AreMeant>
std::string methods_that(AreMeant are_meant) {
  std::vector<std::string_view> names;
  for (const MethodInfo& method : methods()) {
    if (are_meant(method)) names.push_back(method.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

bool meets_rate_late(const MethodInfo& method) { return method.budget({}) == Budget::WholeRun; }

const std::string& rule_of_late_rate() {
  static const std::string rule =
      fmt::format("is for methods that meet the pruning rate by the end of a run: {}",
                  methods_that(meets_rate_late));
  return rule;
}

const std::string& scored_methods() {
  static const std::string names =
      methods_that([](auto& method) { return method.needs_scores != Scores::None; });
  return names;
}

/// One for each of `score_options`.
const std::vector<std::string>& rules_of_score_options() {
  static const std::vector<std::string> rules = [] {
    std::vector<std::string> made;
    for (const ScoreOption& option : score_options()) {
      made.push_back(fmt::format("is for the scoring run of {}", methods_that([&](auto& method) {
                                   return reads(method, option);
                                 })));
    }
    return made;
  }();
  return rules;
}

bool needs_scores(std::string_view method) {
  const MethodInfo* info = find_method(method);
  return info != nullptr && info->needs_scores != Scores::None;
}

void list_data_options(OptionFields& fields, TrainOptions& options) {
  static const std::string dataset_names = names_of(datasets());
  const bool has_images = !trains_on_table(options);
  fields.group("What");
  fields.text("dataset", options.dataset, "NAME", dataset_names);
  fields.path("data", options.data, "PATH",
              "folder of its files, or the file itself if packed or a table");
  fields
      .text("label_column", options.label_column, "NAME",
            "table: the column of the classes; in a .npy file, its number [label; the last]")
      .applies_if(!has_images, "is for tables: only the data set table has a label column");
  fields.count("train_samples", options.train_samples, "N",
               "keep N training samples, every class in proportion [all]");
  fields.number("imbalance", options.imbalance, "F",
                "make it long-tailed: largest class F times the smallest", Range::at_least(1));
  fields.number("hold_out", options.hold_out, "P",
                "set aside the fraction P of every class's training samples, never trained on",
                Range::between(0, 0.5));
  fields.choice("evaluate", options.evaluate, {"test", "held-out"},
                "measure accuracies on the test samples, or on those held out");
  fields.count("min_test_samples", options.min_test_samples, "N",
               "groups with fewer evaluated samples do not count in worst and average",
               Range::at_least(1));
  fields.number("label_noise", options.label_noise, "P",
                "change the fraction P of the training labels to other classes",
                Range::proper_part());
  fields.flag("skip_bad", options.skip_bad, "leave out images that cannot be decoded")
      .applies_if(has_images, ForImages);
  fields.choice("group_by", options.group_by, {"class", "group"},
                "what the budget is split over and accuracy is reported for");
}

void list_image_options(OptionFields& fields, TrainOptions& options) {
  const Range size = Range::between(0, 4096);
  fields.group("Images");
  fields.applies_if(!trains_on_table(options), ForImages);
  fields.flag("fast_decode", options.fast_decode,
              "decode JPEGs at a fraction of their size; pixels differ slightly");
  fields.count("center_crop", options.center_crop, "C",
               "first cut out the central C x C square; 0: do not", size);
  fields.count("resize", options.resize, "S", "shorter side before the crop; 0: the image size",
               size);
  fields.choice("interpolation", options.interpolation, {"bilinear", "bicubic"},
                "interpolation of the resize, antialiased");
  fields.count("image_size", options.image_size, "S",
               "side of the images a network sees; needed if they differ in size", size);
  fields.flag("random_crop", options.random_crop, "in training, crop at random; off: centrally");
  fields.count("crop_padding", options.crop_padding, "P",
               "zeros around the image before the random crop", Range::between(0, 1024));
  fields.flag("flip", options.flip, "mirror each image with probability 1/2");
  fields.flag("trivial_augment", options.trivial_augment,
              "one random operation on each image (TrivialAugmentWide)");
}

void list_selection_options(OptionFields& fields, TrainOptions& options) {
  const MethodInfo* method = find_method(options.method);
  static const std::string method_names = names_of(methods());
  const bool prunes = options.make_scores.empty();
  const char* const no_method = "is for pruned runs; this one only makes scores";
  fields.group("How samples are chosen");
  fields.text("method", options.method, "NAME", method_names).applies_if(prunes, no_method);
  OptionFields common;
  list_options(common, options.pruner.common);
  Option rate = *common.find("pruning_rate");
  fields.append(rate.applies_if(prunes, no_method));
  fields
      .flag("meet_rate", options.meet_rate,
            "infobatch: shorten the run to the pruning rate; off: as published")
      .applies_if(prunes && method != nullptr && meets_rate_late(*method), rule_of_late_rate());
  fields
      .number("loss_scale", options.loss_scale, "F",
              "factor of the losses that the method gets; training itself does not change",
              Range::between(1e-6, 1e6))
      .applies_if(prunes, no_method);
  const std::string& scored = scored_methods();
  fields
      .path("scores", options.scores, "FILE",
            fmt::format("{}: scores of an earlier run [a scoring run makes them]", scored))
      .applies_if(prunes && needs_scores(options.method),
                  fmt::format("is for methods that select by scores: {}", scored));
  fields.list("make_scores", options.make_scores, "METHODS",
              "e.g. ccs,dual,tdds: train on everything, write the scores they need, stop");
  const std::span<const ScoreOption> scoring = score_options();
  for (std::size_t i = 0; i < scoring.size(); ++i) {
    const ScoreOption& option = scoring[i];
    const bool is_read = !prunes || (method != nullptr && reads(*method, option));
    fields
        .count(option.name, options.*option.value, option.value_name, option.meaning,
               Range::at_least(1))
        .applies_if(is_read, rules_of_score_options()[i]);
  }
}

void list_training_options(OptionFields& fields, TrainOptions& options) {
  fields.group("Training");
  fields.text("model", options.model, "NAME", "see rcap model list");
  fields.path("weights", options.weights, "FILE",
              "weights to start from, safetensors or .pth; a head of another size is skipped");
  fields.number("head_scale", options.head_scale, "F",
                "factor of the last layer's initial weights; above 1 makes the first losses high",
                Range::above(0));
  fields.applies_if(options.model == "dinov2-mlp", "is for the network dinov2-mlp");
  list_options(fields, options.dino);
  fields.applies_if(true, {});
  fields.count("epochs", options.epochs, "E", "number of epochs, the same for every method",
               Range::between(1, MostEpochs));
  fields.count("batch_size", options.batch_size, "B", "samples per step",
               Range::between(1, 2'147'483'647));
  fields.count("grad_accumulation", options.grad_accumulation, "K",
               "compute a batch in K parts, to save memory", Range::at_least(1));
  fields.choice("optimizer", options.optimizer, {"sgd", "adamw"}, "how weights are updated");
  fields.number("lr", options.lr, "LR", "learning rate at the start", Range::above(0));
  const bool has_momentum = options.optimizer == OptimizerKind::Sgd;
  fields.number("momentum", options.momentum, "M", "sgd: momentum", Range::proper_part())
      .applies_if(has_momentum, "is for the optimizer sgd");
  fields.flag("nesterov", options.nesterov, "sgd: Nesterov momentum")
      .applies_if(has_momentum, "is for the optimizer sgd");
  fields.number("weight_decay", options.weight_decay, "W", "weight decay of all parameters",
                Range::at_least(0));
  fields.choice("schedule", options.schedule, {"cosine", "cosine-epoch", "constant"},
                "when the learning rate falls: after each batch, after each epoch, never");
  fields.number("logit_adjustment", options.logit_adjustment, "TAU",
                "train the outputs plus TAU times the log of each class's part of what was trained",
                Range::between(0, 10));
}

void list_machine_options(OptionFields& fields, TrainOptions& options) {
  fields.group("Run");
  fields.count("seed", options.seed, "S", "seed of weights, order, augmentation and selection");
  fields.count("threads", options.threads, "N",
               "number of threads; sums round differently with another number, so results differ "
               "slightly",
               Range::between(1, 4096));
  fields.text("device", options.device, "NAME", "cpu cuda cuda:N");
  fields.choice("precision", options.precision, {"fp32", "bf16"}, "precision of the arithmetic");
  fields.flag("channels_last", options.channels_last,
              "channels-last memory format, faster on most machines");
  fields.count("evaluate_every", options.evaluate_every, "K",
               "epochs between evaluations, one always after the last; 0: a tenth of the run",
               Range::at_least(0));
  fields
      .count("data_workers", options.data_workers, "N", "threads that decode images [threads]",
             Range::between(1, 4096))
      .shapes_no_result();
  fields
      .number("checkpoint_seconds", options.checkpoint_seconds, "T", "seconds between checkpoints",
              Range::at_least(0))
      .shapes_no_result();
}

const std::string* find_word(std::span<const GivenOption> given, std::string_view name) {
  const auto found = std::ranges::find(given, name, &GivenOption::name);
  return found == given.end() ? nullptr : &found->word;
}

/// The words of the options that apply, have a value and satisfy `is_wanted`.
template <class Wanted>
std::vector<GivenOption> words_that(TrainOptions options, Wanted is_wanted) {
  OptionFields fields;
  list_options(fields, options);
  std::vector<GivenOption> words;
  for (const Option& option : fields.all()) {
    if (!option.applies() || option.word().empty() || !is_wanted(option)) continue;
    words.push_back({std::string(option.name()), option.word()});
  }
  return words;
}

const Preset& preset_of(std::span<const GivenOption> given, Reader reader) {
  if (const std::string* name = find_word(given, "preset")) return find_preset(*name, reader);
  const std::string* dataset = find_word(given, "dataset");
  return dataset != nullptr && *dataset == "table" ? find_preset("table", reader)
                                                   : presets().front();
}

/// Sets the options that decide which other options there are.
void set_kinds(TrainOptions& options, std::span<const GivenOption> given, Reader reader) {
  for (const char* name : {"make_scores", "dataset", "method", "model", "optimizer"}) {
    const std::string* word = find_word(given, name);
    if (word == nullptr) continue;
    OptionFields fields;  // a new list, since each decides which of the later ones apply
    list_run_options(fields, options);
    fields.find(name)->set(*word, reader);
  }
}

void require(bool holds, const std::string& option, auto value, std::string_view rule) {
  if (!holds) throw InvalidArgument(fmt::format("{} is {}; it must be {}", option, value, rule));
}

void check_combinations(const TrainOptions& options, Reader reader) {
  const auto spelled = [reader](std::string_view name) { return spell(name, reader); };
  require(!trains_on_table(options) || options.model == "mlp",
          fmt::format("{} table with {}", spelled("dataset"), spelled("model")), options.model,
          "mlp: the other networks read images");
  require(options.grad_accumulation <= options.batch_size, spelled("grad_accumulation"),
          options.grad_accumulation, "from 1 to the batch size");
  const bool is_sgd = options.optimizer == OptimizerKind::Sgd;
  require(!is_sgd || !options.nesterov || options.momentum > 0,
          fmt::format("{} on with {}", spelled("nesterov"), spelled("momentum")), options.momentum,
          "above 0");
  require(options.resize == 0 || options.image_size == 0 || options.resize >= options.image_size,
          spelled("resize"), options.resize,
          fmt::format("at least {}, {}", spelled("image_size"), options.image_size));
  require(options.evaluate == Evaluate::Test || options.hold_out > 0,
          fmt::format("{} held-out with {}", spelled("evaluate"), spelled("hold_out")),
          options.hold_out, "above 0: otherwise there is nothing to evaluate on");
  for (const std::string& method : options.make_scores) {
    if (needs_scores(method)) continue;
    throw InvalidArgument(
        fmt::format("{}: \"{}\" does not select by scores; the methods that do are {}",
                    spelled("make_scores"), method, scored_methods()));
  }
}

/// An empty word would be written as no value at all, which is read as the default.
void require_words(std::span<const GivenOption> given, Reader reader) {
  if (std::ranges::none_of(given, &std::string::empty, &GivenOption::word)) return;
  TrainOptions plain;
  OptionFields defaults;
  list_run_options(defaults, plain);
  for (const auto& [name, word] : given) {
    const Option* option = defaults.find(name);
    if (!word.empty() || option == nullptr || option->word().empty()) continue;
    throw InvalidArgument(
        fmt::format("{} is empty; leave it out to get {}", spell(name, reader), option->word()));
  }
}

/// options.toml is TOML, which is UTF-8: a path or name in another encoding could be written, but
/// not read back.
void require_utf8(const OptionFields& fields, Reader reader) {
  for (const Option& option : fields.all()) {
    if (!option.applies()) continue;
    const std::string word = option.word();
    require(is_utf8(word), spell(option.name(), reader), in_quotes(word), "UTF-8; rename it");
  }
}

}  // namespace

bool trains_on_table(const TrainOptions& options) noexcept { return options.dataset == "table"; }

void list_run_options(OptionFields& fields, TrainOptions& options) {
  list_data_options(fields, options);
  list_image_options(fields, options);
  list_selection_options(fields, options);
  list_training_options(fields, options);
  list_machine_options(fields, options);
}

void list_options(OptionFields& fields, TrainOptions& options) {
  list_run_options(fields, options);
  const MethodInfo* method = find_method(options.method);
  if (method == nullptr || !options.make_scores.empty()) return;
  OptionFields own;
  method->list_options(own, options.pruner);
  fields.append(own);  // without seed, epochs and batch size, which are those of the run
}

void list_preset(OptionFields& fields, std::string& preset) {
  fields.text("preset", preset, "NAME",
              names_of(presets()) + "; sets whatever other options leave open");
}

TrainOptions make_options(std::span<const GivenOption> given, Reader reader) {
  require_words(given, reader);
  const Preset& preset = preset_of(given, reader);
  TrainOptions options;
  preset.apply(options);
  const std::string preset_data = options.dataset;
  set_kinds(options, given, reader);
  if (options.dataset != preset_data && find_word(given, "preset") == nullptr) {
    options.imbalance = 1;  // the default preset's long tail is for its own data only
  }
  const MethodInfo& method = require_method(options.method);
  std::string ignored;
  OptionFields fields;
  list_options(fields, options);
  list_preset(fields, ignored);
  set_options(fields, method, given, reader);
  const std::optional<double> beta = preset_beta(preset, options.pruner.common.pruning_rate);
  if (beta && find_word(given, "beta") == nullptr) options.pruner.rcap.beta = beta;
  check_options(options, reader);
  return options;
}

TrainOptions completed(TrainOptions options) {
  if (options.evaluate_every == 0) {
    options.evaluate_every = usual_evaluation_interval(options.epochs);
  }
  return options;
}

TrainOptions make_options_to_go_on(std::span<const GivenOption> stored,
                                   std::span<const GivenOption> given, Reader reader) {
  const TrainOptions begun = make_options(stored, Reader::File);
  TrainOptions options = begun;
  std::string ignored;
  OptionFields fields;
  list_options(fields, options);
  list_preset(fields, ignored);
  set_options(fields, require_method(begun.method), given, reader);
  if (const std::string difference = difference_of(begun, options, reader); !difference.empty()) {
    throw StateMismatch(fmt::format("the run began with other options: {}", difference));
  }
  check_options(options, reader);
  return options;
}

void check_options(const TrainOptions& options, Reader reader) {
  TrainOptions listed = options;
  OptionFields fields;
  list_options(fields, listed);
  check(fields, reader);
  require_utf8(fields, reader);
  check_combinations(options, reader);
}

std::string word_of(const TrainOptions& options, std::string_view name) {
  const std::vector<GivenOption> words = words_of(options);
  const std::string* word = find_word(words, name);
  return word == nullptr ? std::string() : *word;
}

PrunerOptions pruner_options_of(const TrainOptions& options) {
  PrunerOptions pruner = options.pruner;
  OptionFields fields;
  list_options(fields, require_method(options.method), pruner);
  const std::pair<const char*, std::string> told[] = {
      {"seed", std::to_string(options.seed)},
      {"threads", std::to_string(options.threads)},
      {"epochs", std::to_string(options.epochs)},
      {"batch_size", options.meet_rate ? std::to_string(options.batch_size) : "none"}};
  for (const auto& [name, word] : told) {
    if (const Option* option = fields.find(name); option != nullptr && option->applies()) {
      option->set(word);
    }
  }
  return pruner;
}

std::vector<GivenOption> words_of(const TrainOptions& options) {
  TrainOptions plain;
  OptionFields defaults;
  list_options(defaults, plain);
  return words_that(options, [&](const Option& option) {
    return option.shapes_result() || option.word() != defaults.find(option.name())->word();
  });
}

std::string to_toml(const TrainOptions& options) {
  TrainOptions listed = options;
  OptionFields fields;
  list_options(fields, listed);
  return to_toml(words_of(options), fields);
}

std::string difference_of(const TrainOptions& before, const TrainOptions& after, Reader reader) {
  const auto words = [&](TrainOptions options) {
    // An option left open equals its value spelled out in the other run.
    const bool same_evaluations =
        completed(before).evaluate_every == completed(after).evaluate_every;
    if (same_evaluations) options = completed(std::move(options));
    return words_that(std::move(options),
                      [](const Option& option) { return option.shapes_result(); });
  };
  const std::vector<GivenOption> was = words(before);
  const std::vector<GivenOption> is = words(after);
  std::vector<std::string> differences;
  const auto compare = [&](const std::string& name) {
    const std::string* old_word = find_word(was, name);
    const std::string* new_word = find_word(is, name);
    if (old_word && new_word && *old_word == *new_word) return;
    differences.push_back(fmt::format("{} was {}, now {}", spell(name, reader),
                                      old_word ? *old_word : "not set",
                                      new_word ? *new_word : "not set"));
  };
  for (const GivenOption& option : is) compare(option.name);
  for (const GivenOption& option : was) {
    if (find_word(is, option.name) == nullptr) compare(option.name);
  }
  return fmt::format("{}", fmt::join(differences, "; "));
}

bool follows_rate(const TrainOptions& options) {
  const MethodInfo& method = require_method(options.method);
  const Budget budget = method.budget(options.pruner);
  return !method.keeps_all && budget != Budget::None &&
         (budget != Budget::WholeRun || options.meet_rate);
}

bool lacks_weights(std::span<const GivenOption> given) {
  return preset_of(given, Reader::Code).starts_from_weights &&
         find_word(given, "weights") == nullptr;
}

void require_weights(const TrainOptions& options) {
  if (options.model == "dinov2-mlp" && options.weights.empty()) {
    throw InvalidArgument(
        "the network dinov2-mlp trains a head on a frozen backbone, so the backbone must be "
        "pretrained: give its weights (docs/models.md says where to get them)");
  }
}

}  // namespace rcap
