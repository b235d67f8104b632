#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <malloc.h>
#include <nlohmann/json.hpp>

#include "base/version.hpp"
#include "cli/bench_shards.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/machine.hpp"
#include "cli/median_and_range.hpp"
#include "cli/progress_bar.hpp"
#include "cli/synthetic_data.hpp"
#include "core/chunks.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/pruners/rcap_pruner.hpp"
#include "rcap/core/random_stream.hpp"
#include "rcap/core/training_order.hpp"
#include "rcap/core/weighted_draw.hpp"
#include "rcap/core/workers.hpp"

namespace rcap::cli {
namespace {

constexpr const char* BenchUsage =
    "rcap bench select [OPTIONS], rcap bench methods [OPTIONS], rcap bench data [OPTIONS]";
constexpr const char* BenchSelectSummary =
    "Times the rcap method on synthetic data: one warm-up epoch, then --repeat timed ones.";
constexpr const char* BenchSelectFooter =
    R"(select   one selection, per sample of the data set
observe  the losses of an epoch in batches, per observed sample
floor    one pass that only computes the keys of the draw, per sample of the data set
order    shuffling the selection for training, per selected sample
beside   another selection, made in turn with the first (--beside)
faster   how many times faster than with one thread, epoch by epoch (--beside one-thread)
dearer   how many times the cost of class share paper, which has no weights (--beside paper)
peak     peak memory of the pruner, per sample: labels, losses, state, selection

Example: rcap bench select --n 1281167 --classes 1000 --pruning-rate 0.9 --repeat 7 --json)";

/// Above this many samples the order would need more memory than everything else.
constexpr std::int64_t MostOrderedSamples = 50'000'000;
/// Losses are made this many at a time: few compared with any data set worth measuring.
constexpr std::size_t ChunkSamples = 1 << 16;

/// What to compare with, selected alternately with the first selection.
enum class Beside { Nothing, OneThread, Paper };

struct BenchSelectArguments {
  std::int64_t sample_count = 1281167;
  ClassId class_count = 1000;
  ClassProfile profile = ClassProfile::Balanced;
  LabelOrder label_order = LabelOrder::Shuffled;
  CommonOptions common;
  RcapOptions rcap;
  std::int64_t repeat = 7;
  std::int64_t batch_size = 256;
  bool no_order = false;
  std::int64_t shards = 0;
  std::filesystem::path scratch;
  Beside beside = Beside::Nothing;
  bool json = false;
  bool quiet = false;
};

bool parse_arguments(std::span<const std::string> words, BenchSelectArguments& arguments) {
  CommandLine line("bench select", BenchSelectSummary, BenchSelectFooter);
  line.group("Data");
  line.count("n", arguments.sample_count, "N", "number of samples");
  line.count("classes", arguments.class_count, "C", "number of classes");
  line.choice("profile", arguments.profile, {"balanced", "long-tailed"},
              "class sizes: equal, or falling exponentially by a factor of 100");
  line.choice("label_order", arguments.label_order, {"shuffled", "sorted"},
              "order of the samples: classes mixed, or one after another");
  line.group("Selection");
  list_options(line, arguments.common);
  list_options(line, arguments.rcap);
  line.count("batch", arguments.batch_size, "B", "samples per observe call", Range::at_least(1));
  line.group("Run");
  line.count("repeat", arguments.repeat, "K", "timed epochs", Range::at_least(1));
  line.choice("beside", arguments.beside, {"nothing", "one-thread", "paper"},
              "what to compare with, alternating epoch by epoch; takes twice the memory");
  line.flag(
      "no_order", arguments.no_order,
      fmt::format("observe in ascending order; always on above {} samples", MostOrderedSamples));
  line.count(
      "shards", arguments.shards, "R",
      "select as R ranks would that have the samples between them, one rank at a time; 0: as "
      "one process without ranks",
      Range::between(0, 4096));
  line.path("scratch", arguments.scratch, "DIR",
            "with --shards: keep what waiting ranks have in memory in files of this folder, which "
            "are deleted");
  line.flag("json", arguments.json, "print one JSON object");
  line.flag("quiet", arguments.quiet, "print no progress");
  line.config();
  if (!line.parse(words)) return false;
  if (arguments.shards == 0 && arguments.sample_count > MostOrderedSamples) {
    arguments.no_order = true;
  }
  return true;
}

template <class F>
double nanoseconds_of(F&& f) {
  const auto start = std::chrono::steady_clock::now();
  std::forward<F>(f)();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

/// Nanoseconds per sample, one number per repeat.
struct Timings {
  std::vector<double> select, observe, floor, order;
  std::vector<double> beside;  ///< select, by the pruner to compare with
  std::vector<double> ratio;   ///< how much faster, or more costly, than that one
};

/// The data set, the pruner and the numbers of one benchmark.
class SelectBench {
 public:
  explicit SelectBench(const BenchSelectArguments& arguments)
      : arguments_(arguments), progress_(!arguments.quiet), workers_(arguments.common.threads) {}

  void run() {
    setup_seconds_ = nanoseconds_of([this] { make_data(); }) * 1e-9;
    for (std::int64_t epoch = 0; epoch <= arguments_.repeat; ++epoch) {
      progress_.show(
          part_of(epoch, arguments_.repeat),
          epoch == 0 ? "warming up" : fmt::format("epoch {} of {}", epoch, arguments_.repeat));
      run_epoch(epoch);
    }
    // The first epoch warmed up.
    for (auto* times : {&timings_.select, &timings_.observe, &timings_.floor, &timings_.order,
                        &timings_.beside, &timings_.ratio}) {
      if (!times->empty()) times->erase(times->begin());
    }
  }

  [[nodiscard]] const Timings& timings() const noexcept { return timings_; }
  [[nodiscard]] double peak_bytes_per_sample() const noexcept {
    return per_sample(static_cast<double>(peak_));
  }
  /// False: the peak includes making the data.
  [[nodiscard]] bool can_reset_peak() const noexcept { return can_reset_peak_; }
  [[nodiscard]] std::int64_t keep_count() const noexcept { return pruner_->keep_count(); }
  [[nodiscard]] double setup_seconds() const noexcept { return setup_seconds_; }

 private:
  void make_data() {
    progress_.show(0, "making labels");
    const auto class_sizes =
        make_class_sizes(arguments_.sample_count, arguments_.class_count, arguments_.profile);
    classes_ = make_classes(class_sizes, arguments_.label_order, arguments_.common.seed);
    const RcapOptions& options = arguments_.rcap;
    pruner_ = std::make_unique<RcapPruner>(classes_, arguments_.common, options);
    make_beside();
    losses_ = std::make_unique<SyntheticLosses>(classes_, arguments_.common.seed);
    if (pruner_->needs_initial_losses()) observe_initial_losses();
    ::malloc_trim(0);  // so that freed memory does not count as resident
  }

  void make_beside() {
    CommonOptions common = arguments_.common;
    RcapOptions options = arguments_.rcap;
    switch (arguments_.beside) {
      case Beside::Nothing:
        return;
      case Beside::OneThread:
        common.threads = 1;
        break;
      case Beside::Paper:
        options.class_share = ClassShare::Paper;
        options.initial_loss = InitialLoss::FirstEpoch;
        options.robust = {};
        break;
    }
    beside_ = std::make_unique<RcapPruner>(classes_, common, options);
  }

  void observe_initial_losses() {
    std::vector<SampleId> ids;
    std::vector<float> losses;
    for (std::int64_t first = 0; first < arguments_.sample_count;) {
      progress_.show(part_of(first, arguments_.sample_count), "making losses");
      const auto left = static_cast<std::size_t>(arguments_.sample_count - first);
      ids.resize(std::min(ChunkSamples, left));
      std::iota(ids.begin(), ids.end(), first);
      losses_->fill(ids, -1, losses);
      pruner_->observe(ids, losses);
      if (beside_ && beside_->needs_initial_losses()) beside_->observe(ids, losses);
      first += static_cast<std::int64_t>(ids.size());
    }
  }

  void run_epoch(std::int64_t epoch) {
    timings_.floor.push_back(per_sample(time_floor(epoch)));
    const Selection* selection = &time_selections(epoch);
    const auto selected = static_cast<double>(selection->ids.size());
    if (!arguments_.no_order) {
      const double time = nanoseconds_of(
          [&] { put_in_training_order(*selection, arguments_.common.seed, ordered_); });
      timings_.order.push_back(time / selected);
      selection = &ordered_;
    }
    timings_.observe.push_back(
        measure_peak([&] { return time_observe(*pruner_, selection->ids, epoch); }) / selected);
    if (beside_) (void)time_observe(*beside_, beside_->select(epoch).ids, epoch);
  }

  [[nodiscard]] double per_sample(double value) const noexcept {
    return value / static_cast<double>(arguments_.sample_count);
  }

  const Selection& time_selections(std::int64_t epoch) {
    const bool beside_goes_first = epoch % 2 == 1;  // whichever goes second finds more in the cache
    if (beside_ && beside_goes_first) time_beside(epoch);
    const Selection* selection = nullptr;
    timings_.select.push_back(per_sample(measure_peak(
        [&] { return nanoseconds_of([&] { selection = &pruner_->select(epoch); }); })));
    if (beside_ && !beside_goes_first) time_beside(epoch);
    if (beside_) {
      const double dearer = timings_.select.back() / timings_.beside.back();
      timings_.ratio.push_back(arguments_.beside == Beside::Paper ? dearer : 1 / dearer);
    }
    return *selection;
  }

  void time_beside(std::int64_t epoch) {
    timings_.beside.push_back(per_sample(nanoseconds_of([&] { (void)beside_->select(epoch); })));
  }

  /// Records how far the process grows while `f` runs. The benchmark's own arrays do not count.
  template <class F>
  double measure_peak(F&& f) {
    reset_peak_memory();
    const double time = f();
    const auto own_bytes = ordered_.ids.capacity() * sizeof(SampleId) +
                           (ordered_.weights.capacity() + batch_losses_.capacity()) * sizeof(float);
    peak_ = std::max(peak_, peak_memory_bytes() - baseline_ - static_cast<std::int64_t>(own_bytes));
    return time;
  }

  /// The keys of all samples and nothing else: the least that a selection must do.
  double time_floor(std::int64_t epoch) {
    const LossWeights weights{pruner_->memory().stored_losses(), arguments_.rcap.beta.value_or(1)};
    const RandomStream stream(arguments_.common.seed, Purpose::Selection, epoch);
    const Chunks chunks{arguments_.sample_count, 1 << 16};
    std::vector<double> sums(static_cast<std::size_t>(chunks.size()));
    const double time = nanoseconds_of([&] {
      workers_.for_each_chunk(chunks.size(), [&](std::int64_t chunk, int) {
        sums[static_cast<std::size_t>(chunk)] =
            sum_of_keys(*classes_, weights, stream, chunks.begin(chunk), chunks.end(chunk));
      });
    });
    key_sum_ += std::accumulate(sums.begin(), sums.end(), 0.0);
    return time;
  }

  /// Losses are made a chunk at a time, outside the timed parts.
  double time_observe(RcapPruner& pruner, std::span<const SampleId> ids, std::int64_t epoch) {
    double time = 0;
    while (!ids.empty()) {
      const auto chunk = ids.first(std::min(ChunkSamples, ids.size()));
      ids = ids.subspan(chunk.size());
      losses_->fill(chunk, epoch, batch_losses_);
      time += nanoseconds_of([&] { observe_in_batches(pruner, chunk, batch_losses_); });
    }
    return time;
  }

  void observe_in_batches(RcapPruner& pruner, std::span<const SampleId> ids,
                          std::span<const float> losses) const {
    const auto batch_size = static_cast<std::size_t>(arguments_.batch_size);
    for (std::size_t first = 0; first < ids.size(); first += batch_size) {
      const std::size_t count = std::min(batch_size, ids.size() - first);
      pruner.observe(ids.subspan(first, count), losses.subspan(first, count));
    }
  }

  const BenchSelectArguments& arguments_;
  ProgressBar progress_;
  Workers workers_;
  bool can_reset_peak_ = reset_peak_memory();
  std::int64_t baseline_ = peak_memory_bytes();
  std::int64_t peak_ = 0;  ///< bytes over the baseline, in the measured phases
  std::shared_ptr<const ClassIndex> classes_;
  std::unique_ptr<RcapPruner> pruner_;
  std::unique_ptr<RcapPruner> beside_;  ///< what to compare with, if asked for
  std::unique_ptr<SyntheticLosses> losses_;
  Selection ordered_;
  std::vector<float> batch_losses_;
  Timings timings_;
  double setup_seconds_ = 0;
  double key_sum_ = 0;  ///< keeps the floor's work from being optimised away
};

std::string_view name_of(ClassProfile profile) {
  return profile == ClassProfile::Balanced ? "balanced" : "long-tailed";
}

std::string_view name_of(LabelOrder order) {
  return order == LabelOrder::Shuffled ? "shuffled" : "sorted";
}

std::string_view name_of_ratio(Beside beside) {
  return beside == Beside::Paper ? "dearer" : "faster";
}

void print_json(const BenchSelectArguments& arguments, const SelectBench& bench) {
  nlohmann::ordered_json json;
  put_median_and_range(json, "select_ns_per_sample", bench.timings().select);
  put_median_and_range(json, "observe_ns_per_sample", bench.timings().observe);
  put_median_and_range(json, "floor_ns_per_sample", bench.timings().floor);
  put_median_and_range(json, "order_ns_per_selected", bench.timings().order);
  put_median_and_range(json, "beside_ns_per_sample", bench.timings().beside);
  put_median_and_range(json, std::string(name_of_ratio(arguments.beside)), bench.timings().ratio);
  if (arguments.beside == Beside::Nothing) {  // otherwise it would be that of two pruners
    json["peak_bytes_per_sample"] = bench.peak_bytes_per_sample();
    json["peak_without_making_the_data"] = bench.can_reset_peak();
  }
  json["n"] = arguments.sample_count;
  json["classes"] = arguments.class_count;
  json["profile"] = name_of(arguments.profile);
  json["label_order"] = name_of(arguments.label_order);
  json["pruning_rate"] = arguments.common.pruning_rate;
  json["keep_count"] = bench.keep_count();
  json["options"] = describe_options(arguments.rcap);
  json["batch"] = arguments.batch_size;
  json["observe_order"] = arguments.no_order ? "ascending" : "training";
  json["repeat"] = arguments.repeat;
  json["threads"] = arguments.common.threads;
  json["seed"] = arguments.common.seed;
  json["setup_seconds"] = bench.setup_seconds();
  json["cpu"] = cpu_model();
  json["compiler"] = compiler_version();
  json["version"] = version();
  json["revision"] = revision();
  fmt::print("{}\n", json.dump());
}

void print_row(std::string_view name, const std::vector<double>& times, double samples) {
  if (times.empty()) return;
  const MedianAndRange found = median_and_range_of(times);
  fmt::print("{:<8} {:>10.3f} {:>10.3f} {:>10.3f} {:>14.3f}\n", name, found.median, found.lowest,
             found.highest, found.median * samples * 1e-6);
}

void print_table(const BenchSelectArguments& arguments, const SelectBench& bench) {
  const auto samples = static_cast<double>(arguments.sample_count);
  const auto selected = static_cast<double>(bench.keep_count());
  fmt::print("{} samples, {} {} classes ({}), pruning rate {}: {} kept; {}\n",
             arguments.sample_count, arguments.class_count, name_of(arguments.profile),
             name_of(arguments.label_order), arguments.common.pruning_rate, bench.keep_count(),
             fmt::join(describe_options(arguments.rcap), ", "));
  fmt::print("{}, {} thread(s), {}, rcap {}, {} repeats\n\n", cpu_model(), arguments.common.threads,
             compiler_version(), version_and_revision(), arguments.repeat);
  fmt::print("{:<8} {:>10} {:>10} {:>10} {:>14}\n", "ns each", "median", "min", "max",
             "ms per epoch");
  print_row("select", bench.timings().select, samples);
  print_row("floor", bench.timings().floor, samples);
  print_row("observe", bench.timings().observe, selected);
  print_row("order", bench.timings().order, selected);
  print_row("beside", bench.timings().beside, samples);
  if (!bench.timings().ratio.empty()) {
    const MedianAndRange found = median_and_range_of(bench.timings().ratio);
    fmt::print("{:<8} {:>10.3f} {:>10.3f} {:>10.3f}\n", name_of_ratio(arguments.beside),
               found.median, found.lowest, found.highest);
  }
  if (arguments.beside == Beside::Nothing) {
    fmt::print("\npeak     {:.2f} bytes per sample{}", bench.peak_bytes_per_sample(),
               bench.can_reset_peak() ? "" : ", including making the data");
  }
  fmt::print("\nobserved in {} order, in batches of {}\n",
             arguments.no_order ? "ascending" : "training", arguments.batch_size);
}

BenchShardsArguments shards_of(const BenchSelectArguments& arguments) {
  if (arguments.profile != ClassProfile::Balanced ||
      arguments.label_order != LabelOrder::Shuffled || arguments.beside != Beside::Nothing) {
    throw InvalidArgument(
        "bench select: --profile, --label-order and --beside are not for --shards, whose labels "
        "are "
        "drawn evenly; leave them out");
  }
  return {.sample_count = arguments.sample_count,
          .class_count = arguments.class_count,
          .shards = static_cast<int>(arguments.shards),
          .scratch = arguments.scratch,
          .common = arguments.common,
          .rcap = arguments.rcap,
          .repeat = arguments.repeat,
          .no_order = arguments.no_order,
          .json = arguments.json};
}

void run_bench_select(std::span<const std::string> words) {
  BenchSelectArguments arguments;
  if (!parse_arguments(words, arguments)) return;
  if (arguments.shards > 0) return run_bench_shards(shards_of(arguments));
  if (!arguments.scratch.empty()) {
    throw InvalidArgument("bench select: --scratch is for --shards; give their number");
  }
  SelectBench bench(arguments);
  bench.run();
  if (arguments.json) {
    print_json(arguments, bench);
  } else {
    print_table(arguments, bench);
  }
}

}  // namespace

void run_bench(std::span<const std::string> words) {
  const std::string what = words.empty() ? "" : words.front();
  if (what == "select") return run_bench_select(words.subspan(1));
  if (what == "methods") return run_bench_methods(words.subspan(1));
  if (what == "data") return run_bench_data(words.subspan(1));
  if (what == "--help" || what == "-h") {
    fmt::print("Usage: {}; add --help to one of them to see its options\n", BenchUsage);
    return;
  }
  throw InvalidArgument(fmt::format("bench \"{}\" does not exist; there are {}", what, BenchUsage));
}

}  // namespace rcap::cli
