#include "cli/cmd_train.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "cli/command_line.hpp"
#include "cli/run_main.hpp"
#include "cli/stop_signal.hpp"
#include "cli/train_arguments.hpp"
#include "cli/train_reporter.hpp"

namespace rcap::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* TrainSummary =
    "Trains a network on a part of the data each epoch, and tells how well each class fares.";
constexpr const char* TrainFooter =
    R"(Results go to --out: summary.json, epochs.jsonl (a line an epoch), options.toml (repeat the
run with --config), checkpoint/ and event files for TensorBoard.

A tenth of long-tailed Fashion-MNIST each epoch, on this machine:
  rcap train --method rcap --class-share group --pruning-rate 0.9 --out runs/rcap
The same on everything, to compare:
  rcap train --method full --out runs/full
After a stop, exactly where it was:
  rcap train --out runs/full --resume)";

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
  CommandLine line("train", TrainSummary, TrainFooter);
  add_options(line, arguments);
  if (!line.parse(words)) return std::nullopt;
  if (!arguments.dry_run) line.require("--out", arguments.out);
  return arguments;
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
    fmt::print("scores of {} in {}\n", arguments.make_scores,
               (arguments.out / "scores.safetensors").string());
  }
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
  if (lacks_weights(*arguments) && !arguments->quiet) {
    fmt::print(stderr,
               "note: the paper's experiment starts from official weights; without --weights this "
               "one starts from random ones\n");
  }
  TrainReporter reporter(arguments->quiet);
  watch_for_stop();
  if (!options.make_scores.empty()) return make_scores(*arguments, options, reporter);
  const auto summary = train(options, {arguments->out, arguments->resume}, reporter);
  reporter.finish();
  if (!summary) throw_stopped(arguments->out);
  if (arguments->json) {
    fmt::print("{}", to_text(*summary));
  } else {
    print_summary(*summary, arguments->out);
  }
}

}  // namespace rcap::cli
