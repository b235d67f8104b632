#include "cli/cmd_train.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command_line.hpp"
#include "cli/machine.hpp"
#include "cli/method_options.hpp"
#include "cli/run_main.hpp"
#include "cli/stop_signal.hpp"
#include "cli/train_reporter.hpp"
#include "io/toml_options.hpp"
#include "train/options.hpp"
#include "train/presets.hpp"
#include "train/run_folder.hpp"

namespace rcap::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* TrainSummary =
    "Trains a network on a part of the data each epoch, and tells how well each class fares.";
constexpr const char* TrainFooter =
    R"(Results go to --out: summary.json, epochs.jsonl (one line per epoch), options.toml (repeat the
run with --config), checkpoint/ and event files for TensorBoard.

A tenth of long-tailed Fashion-MNIST each epoch, on this machine:
  rcap train --method rcap --class-share group --pruning-rate 0.9 --out runs/rcap
The same on everything, to compare:
  rcap train --method full --out runs/full
After a stop, exactly where it was:
  rcap train --out runs/full --resume)";

struct TrainArguments {
  fs::path out;
  bool resume = false, dry_run = false, quiet = false, json = false;
  std::vector<GivenOption> given;  ///< options of the run
  bool has_config = false;
};

bool parse(std::span<const std::string> words, TrainArguments& arguments) {
  CommandLine line("train", TrainSummary, TrainFooter);
  std::string preset(presets().front().name);
  TrainOptions defaults = make_options({}, Reader::CommandLine);
  defaults.threads = available_threads();
  OptionFields fields;
  fields.group("What");
  list_preset(fields, preset);
  list_run_options(fields, defaults);
  line.collect(fields);
  line.group("Run");
  line.path("out", arguments.out, "DIR", "where results go; required");
  line.flag("resume", arguments.resume, "go on with the run in --out");
  line.flag("dry_run", arguments.dry_run, "print all options as they would be used, then stop");
  line.config();
  line.flag("json", arguments.json, "print the summary as JSON");
  line.flag("quiet", arguments.quiet, "print no progress");
  collect_method_options(line);
  if (!line.parse(words)) return false;
  if (!arguments.dry_run) line.require("out", arguments.out);
  arguments.given.assign(line.given().begin(), line.given().end());
  arguments.has_config = line.has_config();
  return true;
}

/// --resume takes all that is not given from the run's own options.
TrainOptions options_of(const TrainArguments& arguments) {
  const fs::path stored = arguments.out / run_files::Options;
  if (arguments.resume && !arguments.has_config && fs::exists(stored)) {
    return make_options_to_go_on(read_toml_options(stored), arguments.given, Reader::CommandLine);
  }
  std::vector<GivenOption> given = arguments.given;
  if (std::ranges::find(given, "threads", &GivenOption::name) == given.end()) {
    given.push_back({"threads", fmt::format("{}", available_threads())});
  }
  return make_options(given, Reader::CommandLine);
}

[[noreturn]] void throw_stopped(const fs::path& out) {
  throw Stopped(fmt::format("stopped, nothing is lost; go on with: rcap train --out {} --resume",
                            out.string()));
}

void make_scores(const TrainArguments& arguments, const TrainOptions& options,
                 TrainReporter& reporter) {
  const bool done = score(options, {arguments.out, arguments.resume}, reporter);
  reporter.finish();
  if (!done) throw_stopped(arguments.out);
  if (!arguments.quiet) {
    fmt::print("scores of {} in {}\n", fmt::join(options.make_scores, ","),
               (arguments.out / run_files::Scores).string());
  }
}

}  // namespace

void run_train(std::span<const std::string> words) {
  TrainArguments arguments;
  if (!parse(words, arguments)) return;
  const TrainOptions options = options_of(arguments);
  if (arguments.dry_run) return fmt::print("{}", to_toml(options));
  if (lacks_weights(arguments.given) && !arguments.quiet) {
    fmt::print(stderr,
               "note: the paper's experiment starts from official weights; without --weights this "
               "one starts from random ones\n");
  }
  TrainReporter reporter(arguments.quiet);
  watch_for_stop();
  if (!options.make_scores.empty()) return make_scores(arguments, options, reporter);
  const auto summary = train(options, {arguments.out, arguments.resume}, reporter);
  reporter.finish();
  if (!summary) throw_stopped(arguments.out);
  if (arguments.json) {
    fmt::print("{}", to_text(*summary));
  } else {
    print_summary(*summary, arguments.out);
  }
}

}  // namespace rcap::cli
