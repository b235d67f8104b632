#include "cli/cmd_train.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/command_line.hpp"
#include "cli/machine.hpp"
#include "cli/method_options.hpp"
#include "cli/progress_bar.hpp"
#include "cli/run_main.hpp"
#include "rcap/core/class_budget.hpp"
#include "rcap/data/open_dataset.hpp"
#include "rcap/train/presets.hpp"
#include "rcap/train/trainer.hpp"

namespace rcap::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* Summary_ =
    "Trains a network on a part of the data each epoch, and tells how well each class fares.";
constexpr const char* Footer =
    R"(Results go to --out: summary.json, epochs.jsonl (a line an epoch), options.toml (repeat the
run with --config), checkpoint/ and event files for TensorBoard.

A tenth of long-tailed Fashion-MNIST each epoch, on this machine:
  rcap train --method rcap --class-share group --pruning-rate 0.9 --out runs/rcap
The same on everything, to compare:
  rcap train --method full --out runs/full
After a stop, exactly where it was:
  rcap train --out runs/full --resume)";

/// What the words say; what they leave open comes from the preset.
struct TrainArguments {
  std::string preset;
  std::string dataset, method, model, device;
  fs::path data, scores, out;
  MethodArguments methods;
  std::optional<double> imbalance, lr, momentum, weight_decay, checkpoint_seconds;
  std::optional<std::int64_t> epochs, batch_size, evaluate_every, score_epochs, score_window;
  std::optional<int> image_size, crop_padding, data_workers;
  std::optional<bool> flip, nesterov, channels_last, skip_bad, meet_rate;
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

template <class Names>
std::string names_of(const Names& entries) {
  std::vector<std::string_view> names;
  for (const auto& entry : entries) names.push_back(entry.name);
  return fmt::format("{}", fmt::join(names, " "));
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
  line.path("--data", arguments.data, "DIR", "where its files are");
  line.number("--imbalance", arguments.imbalance, "F",
              "make it long-tailed: largest class F times the smallest");
  add_on_off(line, "--skip-bad", arguments.skip_bad, "leave out images that cannot be decoded");
  line.number("--image-size", arguments.image_size, "S",
              "resize to this side; needed where images differ in size");
  line.number("--crop-padding", arguments.crop_padding, "P",
              "random crop after P zeros were put around");
  add_on_off(line, "--flip", arguments.flip, "flip every second image");
}

void add_training_options(CommandLine& line, TrainArguments& arguments) {
  line.group("Training");
  line.text("--model", arguments.model, "NAME", "small-cnn resnet18-cifar");
  line.number("--epochs", arguments.epochs, "E", "epochs, the same for every method");
  line.number("--batch-size", arguments.batch_size, "B", "samples a step");
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

void add_options(CommandLine& line, TrainArguments& arguments) {
  add_data_options(line, arguments);
  line.group("How samples are chosen");
  line.text("--method", arguments.method, "NAME",
            fmt::format("{} [rcap]", fmt::join(method_names(), " ")));
  add_pruning_rate(line, arguments.methods);
  line.path("--scores", arguments.scores, "FILE",
            "ccs, metriq, tdds: scores of an earlier run, else a scoring run is made");
  line.number("--score-epochs", arguments.score_epochs, "T", "tdds: epochs listened to [10]");
  line.number("--score-window", arguments.score_window, "J", "tdds: epochs in a window [10]");
  add_on_off(line, "--meet-rate", arguments.meet_rate,
             "infobatch: shorten the run to --pruning-rate; off: as published [on]");
  add_training_options(line, arguments);
  add_run_options(line, arguments);
  add_method_options(line, arguments.methods);
}

template <class Value>
void take(const std::optional<Value>& given, Value& value) {
  if (given) value = *given;
}

void take(const std::string& given, std::string& value) {
  if (!given.empty()) value = given;
}

TrainOptions resolve(const TrainArguments& arguments) {
  const Preset& preset =
      find_preset(arguments.preset.empty() ? presets().front().name : arguments.preset);
  TrainOptions options;
  preset.apply(options);
  if (!arguments.dataset.empty() && arguments.dataset != options.dataset &&
      arguments.preset.empty()) {
    options.imbalance = 1;  // the long tail belongs to the default preset's own data
  }
  take(arguments.dataset, options.dataset);
  options.data_folder = arguments.data;
  take(arguments.imbalance, options.imbalance);
  take(arguments.skip_bad, options.skip_bad);
  take(arguments.image_size, options.image_size);
  take(arguments.crop_padding, options.crop_padding);
  take(arguments.flip, options.flip);
  take(arguments.method, options.method);
  require_method(options.method);
  options.pruner =
      resolve(arguments.methods, preset_beta(preset, arguments.methods.pruner.common.pruning_rate));
  options.scores = arguments.scores;
  take(arguments.score_epochs, options.divergence.epochs);
  take(arguments.score_window, options.divergence.window);
  take(arguments.model, options.model);
  take(arguments.epochs, options.epochs);
  take(arguments.batch_size, options.batch_size);
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

std::atomic<bool> stop_was_asked_for = false;

/// The first Ctrl-C, or a polite kill, lets the batch end and saves a checkpoint; the
/// second one ends the program at once.
void stop_politely() {
  struct sigaction action {};
  action.sa_handler = [](int) { stop_was_asked_for = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

/// Percent with one decimal; a dash for a group without samples.
std::string percent(double part) {
  return std::isnan(part) ? "-" : fmt::format("{:.1f}", 100 * part);
}

/// A progress bar on a terminal, a line an epoch in a log.
class TrainReporter final : public TrainListener {
 public:
  explicit TrainReporter(bool quiet) : quiet_(quiet), bar_(!quiet) {}

  void on_start(const Dataset& dataset, const TrainOptions& options) override {
    if (quiet_) return;
    print(fmt::format("{}: {} training samples in {} classes, {} to evaluate with; {}, {}",
                      dataset.name, dataset.train.size(), dataset.class_count(),
                      dataset.test.size(), options.model, options.method));
    for (const std::string& remark : dataset.remarks) print("note: " + remark);
  }

  void on_resume(std::int64_t epoch, std::int64_t batch) override {
    if (!quiet_) print(fmt::format("resumed at epoch {}, batch {}", epoch + 1, batch));
  }

  void on_progress(const Progress& progress) override {
    if (progress.phase != phase_) begin_phase(progress);
    if (!bar_.is_due()) return;
    const double seconds = since_phase();
    const double gained = progress.done - done_at_start_;
    std::string text = progress.phase == "training" || progress.phase == "scoring"
                           ? fmt::format("{} epoch {}/{}  loss {:.3f}", progress.phase,
                                         progress.epoch + 1, progress.epochs, progress.loss)
                           : std::string(progress.phase);
    if (seconds > 0.5 && gained > 0) {
      text += fmt::format("  {:.0f} samples/s  {} left", rate(progress),
                          as_time(seconds * (1 - progress.done) / gained));
    }
    bar_.show(progress.done, text);
  }

  void on_epoch(const EpochRecord& record, std::int64_t epochs) override {
    // Where a bar tells the rest, only evaluations are worth a line that stays.
    if (quiet_ || (bar_.is_shown() && !record.evaluation)) return;
    std::string line = fmt::format("epoch {:>3}/{}  loss {:.4f}  {} samples", record.epoch + 1,
                                   epochs, record.train_loss, record.selected);
    if (record.evaluation) {
      line += fmt::format("  accuracy: worst class {}, average {}",
                          percent(record.evaluation->worst_group_accuracy),
                          percent(record.evaluation->average_group_accuracy));
    }
    print(line + fmt::format("  {:.1f} s", record.seconds.total()));
  }

  [[nodiscard]] bool wants_to_stop() const override { return stop_was_asked_for; }

  void finish() { bar_.clear(); }

 private:
  void print(const std::string& line) {
    bar_.clear();
    fmt::print(stderr, "{}\n", line);
  }

  void begin_phase(const Progress& progress) {
    phase_ = progress.phase;
    done_at_start_ = progress.done;
    start_ = Clock::now();
    samples_ = 0;
    last_samples_ = progress.samples;
  }

  [[nodiscard]] double since_phase() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

  /// Samples a second of the current epoch or pass, as far as it is known.
  double rate(const Progress& progress) {
    const auto now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - last_time_).count();
    if (progress.samples > last_samples_ && seconds > 0 && last_time_ != Clock::time_point()) {
      const double newest = static_cast<double>(progress.samples - last_samples_) / seconds;
      samples_ = samples_ == 0 ? newest : 0.8 * samples_ + 0.2 * newest;
    }
    last_samples_ = progress.samples;
    last_time_ = now;
    return samples_;
  }

  bool quiet_;
  ProgressBar bar_;
  std::string phase_;
  double done_at_start_ = 0;
  Clock::time_point start_;
  double samples_ = 0;  ///< a second, smoothed
  std::int64_t last_samples_ = 0;
  Clock::time_point last_time_;
};

void print_groups(const Summary& summary) {
  constexpr std::size_t MostShown = 40;
  const auto& accuracies = summary.evaluation.group_accuracy;
  fmt::print("{:<20} {:>9} {:>9}\n", "group", "accuracy", "samples");
  for (std::size_t g = 0; g < std::min(accuracies.size(), MostShown); ++g) {
    fmt::print("{:<20} {:>9} {:>9}\n", summary.group_names[g].substr(0, 20), percent(accuracies[g]),
               summary.group_sizes[g]);
  }
  if (accuracies.size() > MostShown) {
    fmt::print("... and {} more in summary.json\n", accuracies.size() - MostShown);
  }
  fmt::print("{:<20} {:>9}\n{:<20} {:>9}\n{:<20} {:>9}\n", "worst group",
             percent(summary.evaluation.worst_group_accuracy), "average group",
             percent(summary.evaluation.average_group_accuracy), "all samples",
             percent(summary.evaluation.accuracy));
}

void print_seconds(const Seconds& seconds) {
  const std::pair<const char*, double> parts[] = {
      {"forward, backward, update", seconds.train},
      {"waiting for data", seconds.data_wait},
      {"selecting", seconds.select},
      {"observing losses", seconds.observe},
      {"pass before training", seconds.initial_pass},
      {"scoring run", seconds.scoring},
      {"evaluating", seconds.evaluate},
      {"checkpoints", seconds.checkpoint},
      {"opening data, set-up", seconds.setup},
  };
  fmt::print("\n{:<26} {:>9}\n", "where the time went", "seconds");
  for (const auto& [name, value] : parts) {
    if (value > 0) fmt::print("{:<26} {:>9.2f}\n", name, value);
  }
  fmt::print("{:<26} {:>9.2f}\n", "all", seconds.total());
}

void print_summary(const Summary& summary, const fs::path& out) {
  print_groups(summary);
  print_seconds(summary.seconds);
  fmt::print("\n{} of {} samples an epoch, {} seen in {} epochs; results in {}\n",
             summary.keep_count, summary.n_train, summary.samples_seen, summary.epochs,
             out.string());
}

/// --resume takes all that is not given from the run's own options.
std::vector<std::string> with_stored_options(std::span<const std::string> words,
                                             const TrainArguments& first) {
  std::vector<std::string> all(words.begin(), words.end());
  const fs::path stored = first.out / "options.toml";
  const bool has_config = std::ranges::any_of(
      words, [](const std::string& word) { return word.starts_with("--config"); });
  if (first.resume && !has_config && fs::exists(stored)) {
    all.insert(all.end(), {"--config", stored.string()});
  }
  return all;
}

std::optional<TrainArguments> parse(std::span<const std::string> words) {
  TrainArguments arguments;
  CommandLine line("train", Summary_, Footer);
  add_options(line, arguments);
  if (!line.parse(words)) return std::nullopt;
  if (!arguments.dry_run) line.require("--out", arguments.out);
  return arguments;
}

}  // namespace

void run_train(std::span<const std::string> words) {
  auto arguments = parse(words);
  if (!arguments) return;
  if (arguments->resume) arguments = parse(with_stored_options(words, *arguments));
  const TrainOptions options = resolve(*arguments);
  check_options(options);
  if (arguments->dry_run) {
    for (const auto& [name, value] : list_options(options)) fmt::print("{} = {}\n", name, value);
    return;
  }
  TrainReporter reporter(arguments->quiet);
  stop_politely();
  const auto summary = train(options, {arguments->out, arguments->resume}, reporter);
  reporter.finish();
  if (!summary) {
    throw Stopped(fmt::format("stopped, nothing is lost; go on with: rcap train --out {} --resume",
                              arguments->out.string()));
  }
  if (arguments->json) {
    fmt::print("{}\n", nlohmann::ordered_json(*summary).dump());
  } else {
    print_summary(*summary, arguments->out);
  }
}

}  // namespace rcap::cli
