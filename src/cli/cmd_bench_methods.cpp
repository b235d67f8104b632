#include <algorithm>
#include <chrono>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/version.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/machine.hpp"
#include "cli/median_and_range.hpp"
#include "cli/progress_bar.hpp"
#include "cli/synthetic_data.hpp"
#include "rcap/core/make_pruner.hpp"

namespace rcap::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* MethodsSummary =
    "Times one selection of every dynamic method on synthetic data, with its default options.";
constexpr const char* MethodsFooter =
    R"(select    one selection, in nanoseconds per sample of the data set
over rcap how many times that of rcap, whose selections are made in turn, epoch by epoch

Example: rcap bench methods --n 1281167 --classes 1000 --pruning-rate 0.9 --json)";

struct BenchMethodsArguments {
  std::int64_t sample_count = 1281167;
  ClassId class_count = 1000;
  CommonOptions common;
  std::int64_t repeat = 7;
  bool json = false;
  bool quiet = false;
};

bool parse_arguments(std::span<const std::string> words, BenchMethodsArguments& arguments) {
  CommandLine line("bench methods", MethodsSummary, MethodsFooter);
  line.group("Data");
  line.count("n", arguments.sample_count, "N", "number of samples");
  line.count("classes", arguments.class_count, "C", "number of classes");
  line.group("Selection");
  list_options(line, arguments.common);
  line.group("Run");
  line.count("repeat", arguments.repeat, "K", "timed epochs", Range::at_least(1));
  line.flag("json", arguments.json, "print one JSON object");
  line.flag("quiet", arguments.quiet, "print no progress");
  return line.parse(words);
}

/// A pruner that goes through a training without a network.
class Course {
 public:
  Course(std::string_view method, const std::shared_ptr<const ClassIndex>& classes,
         const BenchMethodsArguments& arguments)
      : losses_(classes, arguments.common.seed) {
    PrunerOptions options;
    options.common = arguments.common;
    OptionFields fields;
    list_options(fields, require_method(method), options);
    // A long run: the last epochs of some methods are not like the others.
    const Option* epochs = fields.find("epochs");
    if (epochs != nullptr && epochs->applies()) epochs->set("1000");
    pruner_ = make_pruner(method, classes, options);
    if (!pruner_->needs_initial_losses()) return;
    std::vector<SampleId> all(static_cast<std::size_t>(classes->sample_count()));
    std::iota(all.begin(), all.end(), 0);
    losses_.fill(all, -1, some_);
    pruner_->observe(all, some_);
  }

  /// @return nanoseconds of the selection, per sample of the data set
  double run(std::int64_t epoch) {
    const auto start = std::chrono::steady_clock::now();
    const Selection& selection = pruner_->select(epoch);
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    losses_.fill(selection.ids, epoch, some_);
    pruner_->observe(selection.ids, some_);
    if (pruner_->refreshes()) {
      losses_.fill(selection.refresh_ids, epoch, some_);
      pruner_->observe_refreshed(selection.refresh_ids, some_);
    }
    return time.count() / static_cast<double>(pruner_->classes().sample_count());
  }

 private:
  SyntheticLosses losses_;
  std::vector<float> some_;
  std::unique_ptr<Pruner> pruner_;
};

struct MethodTimes {
  std::string_view method;
  std::vector<double> select, over_rcap;
};

MethodTimes measure(std::string_view method, const std::shared_ptr<const ClassIndex>& classes,
                    const BenchMethodsArguments& arguments) {
  // Enough epochs for every method to know what it goes by: ies waits for six losses.
  constexpr std::int64_t WarmUp = 8;
  MethodTimes times{method, {}, {}};
  Course course(method, classes, arguments);
  Course beside("rcap", classes, arguments);
  for (std::int64_t epoch = 0; epoch < WarmUp + arguments.repeat; ++epoch) {
    const double time = course.run(epoch);
    const double time_of_rcap = beside.run(epoch);
    if (epoch < WarmUp) continue;
    times.select.push_back(time);
    times.over_rcap.push_back(time / time_of_rcap);
  }
  return times;
}

void print_json(const BenchMethodsArguments& arguments, std::span<const MethodTimes> all) {
  Json json{{"n", arguments.sample_count},
            {"classes", arguments.class_count},
            {"pruning_rate", arguments.common.pruning_rate},
            {"threads", arguments.common.threads},
            {"repeat", arguments.repeat}};
  for (const MethodTimes& times : all) {
    Json row{{"method", times.method}};
    put_median_and_range(row, "select_ns_per_sample", times.select);
    put_median_and_range(row, "over_rcap", times.over_rcap);
    json["methods"].push_back(std::move(row));
  }
  json["cpu"] = cpu_model();
  json["compiler"] = compiler_version();
  json["version"] = version();
  json["revision"] = revision();
  fmt::print("{}\n", json.dump());
}

void print_table(const BenchMethodsArguments& arguments, std::span<const MethodTimes> all) {
  fmt::print(
      "{} samples, {} classes, pruning rate {}; {}, {} thread(s), {}, rcap {}, {} repeats\n\n",
      arguments.sample_count, arguments.class_count, arguments.common.pruning_rate, cpu_model(),
      arguments.common.threads, compiler_version(), version_and_revision(), arguments.repeat);
  fmt::print("{:<16} {:>10} {:>10} {:>10} {:>10}\n", "ns a sample", "select", "min", "max",
             "over rcap");
  for (const MethodTimes& times : all) {
    const MedianAndRange select = median_and_range_of(times.select);
    fmt::print("{:<16} {:>10.3f} {:>10.3f} {:>10.3f} {:>10.2f}\n", times.method, select.median,
               select.lowest, select.highest, median_and_range_of(times.over_rcap).median);
  }
}

}  // namespace

void run_bench_methods(std::span<const std::string> words) {
  BenchMethodsArguments arguments;
  if (!parse_arguments(words, arguments)) return;
  const auto sizes =
      make_class_sizes(arguments.sample_count, arguments.class_count, ClassProfile::Balanced);
  const auto classes = make_classes(sizes, LabelOrder::Shuffled, arguments.common.seed);
  std::vector<std::string_view> names;
  for (const MethodInfo& method : methods()) {
    if (!method.is_static) names.push_back(method.name);
  }
  ProgressBar progress(!arguments.quiet);
  std::vector<MethodTimes> all;
  for (const std::string_view name : names) {
    progress.show(static_cast<double>(all.size()) / static_cast<double>(names.size()),
                  std::string(name));
    all.push_back(measure(name, classes, arguments));
  }
  progress.clear();
  if (arguments.json) return print_json(arguments, all);
  print_table(arguments, all);
}

}  // namespace rcap::cli
