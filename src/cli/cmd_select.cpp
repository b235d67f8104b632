#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/staged_file.hpp"
#include "base/text_file.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/machine.hpp"
#include "cli/run_main.hpp"
#include "io/npy.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/filter.hpp"
#include "rcap/core/make_pruner.hpp"
#include "rcap/core/training_order.hpp"

namespace rcap::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t MostClassesListed = 10000;
constexpr std::int64_t ObserveChunk = 1 << 20;

constexpr const char* SelectSummary =
    "Selects the samples of one epoch, for any framework: arrays in, ids out (.npy).";
constexpr const char* SelectFooter =
    R"(The first call starts the state; each further call takes the losses of the epoch just
trained and selects the next:

  rcap select --labels labels.npy --state s.rcap --out ids.npy --weights w.npy
  rcap select --labels labels.npy --losses losses.npy --ids ids.npy --state s.rcap --out ids.npy --weights w.npy

Here losses.npy holds one loss per id of ids.npy, in the same order. Multiply losses by the
weights in w.npy when you train, but not in losses.npy. Methods that need the losses of all
samples before training take them in the first call. Give the same method and options in
every call. If a call was interrupted, repeat it unchanged; --epoch T makes sure that a
repeated call is not taken for the next one.)";

enum class OutputOrder { Training, Ascending };

struct SelectArguments {
  std::string method = "rcap";
  fs::path labels, lengths, losses, ids, scores, mean_probabilities, recalls;  // in
  fs::path out, weights, filter;                                               // out
  fs::path state;                                                              // both
  std::optional<ClassId> class_count;
  std::optional<std::int64_t> epoch;
  OutputOrder order = OutputOrder::Training;
  PrunerOptions pruner;
  bool quiet = false;
  bool json = false;
};

/// Those that choose by a score per sample.
std::string scored_methods() {
  std::vector<std::string_view> names;
  for (const MethodInfo& method : methods()) {
    const bool by_sample =
        method.needs_scores != Scores::None && method.needs_scores != Scores::Recalls;
    if (by_sample) names.push_back(method.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

void add_data_options(CommandLine& line, SelectArguments& arguments) {
  line.group("Data (.npy, one dimension)");
  line.path("labels", arguments.labels, "FILE", "class of every sample, integers; required");
  line.path("lengths", arguments.lengths, "FILE",
            "tokens of every sample, integers: budgets and class shares are then in tokens");
  line.count("classes", arguments.class_count, "C", "number of classes [largest label + 1]");
  line.path("losses", arguments.losses, "FILE",
            "losses: in the first call of all samples, then of the epoch just trained");
  line.path("ids", arguments.ids, "FILE",
            "ids of the samples in --losses [all samples of the data set, in order]");
  line.path("scores", arguments.scores, "FILE",
            fmt::format("a score per sample, for {}", scored_methods()));
  line.path("mean_probabilities", arguments.mean_probabilities, "FILE",
            "mean probability of the true class per sample, for dual's draw");
  line.path("recalls", arguments.recalls, "FILE", "a recall per class, for metriq");
}

void add_run_options(CommandLine& line, SelectArguments& arguments) {
  line.group("Run");
  std::vector<std::string_view> names;
  for (const MethodInfo& method : methods()) names.push_back(method.name);
  line.text("method", arguments.method, "NAME", fmt::format("{}", fmt::join(names, " ")));
  line.count("epoch", arguments.epoch, "T", "epoch to select [the one after that of the state]");
  line.path("state", arguments.state, "FILE",
            "what the pruner remembers; created if it does not exist, then updated");
  OptionFields common;
  common.group("Run");
  list_options(common, arguments.pruner.common);
  line.collect(common);
  line.config();
}

void add_output_options(CommandLine& line, SelectArguments& arguments) {
  line.group("Output");
  line.path("out", arguments.out, "FILE", "ids of the selected samples, int64 (.npy); required");
  line.path("weights", arguments.weights, "FILE",
            "factor of each selected sample's loss, float32 (.npy)");
  line.path("filter", arguments.filter, "FILE",
            "the same for data read in an order of their own: a bit per sample, and weights");
  line.choice("order", arguments.order, {"training", "ascending"},
              "order of the ids: shuffled for training, or sorted");
  line.flag("json", arguments.json, "print the result as one JSON object");
  line.flag("quiet", arguments.quiet, "print no summary");
}

bool same_file(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  return !a.empty() && !b.empty() &&
         fs::weakly_canonical(fs::absolute(a), ignored) ==
             fs::weakly_canonical(fs::absolute(b), ignored);
}

/// No output may overwrite another output or an input. Only --ids may be --out: the ids of the last
/// epoch are replaced by those of the next.
void check_paths_differ(const SelectArguments& arguments) {
  using Named = std::pair<std::string_view, const fs::path*>;
  const Named outputs[] = {{"--out", &arguments.out},
                           {"--weights", &arguments.weights},
                           {"--filter", &arguments.filter},
                           {"--state", &arguments.state}};
  const Named inputs[] = {
      {"--labels", &arguments.labels},  {"--lengths", &arguments.lengths},
      {"--losses", &arguments.losses},  {"--ids", &arguments.ids},
      {"--scores", &arguments.scores},  {"--mean-probabilities", &arguments.mean_probabilities},
      {"--recalls", &arguments.recalls}};
  std::vector<Named> others(std::begin(inputs), std::end(inputs));
  for (const Named& output : outputs) {
    for (const Named& other : others) {
      const bool may_meet = output.first == "--out" && other.first == "--ids";
      if (may_meet || !same_file(*output.second, *other.second)) continue;
      throw InvalidArgument(fmt::format("{} and {} are the same file, {}; give each its own",
                                        output.first, other.first, output.second->string()));
    }
    others.push_back(output);
  }
}

/// Applies the given options and checks that the method has what it needs.
void set_method_options(SelectArguments& arguments, std::span<const GivenOption> given) {
  const MethodInfo& method = require_method(arguments.method);
  OptionFields fields;
  list_options(fields, method, arguments.pruner);
  set_options(fields, method, given, Reader::CommandLine);
  const auto ask_for = [&](const std::string& option, std::string_view meaning) {
    throw InvalidArgument(
        fmt::format("{} is missing: {} needs {}", option, arguments.method, meaning));
  };
  for (const Option& option : fields.all()) {
    if (!option.is_required() || std::ranges::count(given, option.name(), &GivenOption::name)) {
      continue;
    }
    ask_for(fmt::format("{} {}", spell(option.name(), Reader::CommandLine), option.value_name()),
            option.meaning());
  }
  check(fields, Reader::CommandLine);
  const bool by_class = method.needs_scores == Scores::Recalls;
  if (by_class && arguments.recalls.empty()) {
    ask_for("--recalls FILE", "the recall of every class on held-out data");
  }
  if (!by_class && method.needs_scores != Scores::None && arguments.scores.empty()) {
    ask_for("--scores FILE", "a score of every sample from a full training run");
  }
  const bool draws =
      method.needs_scores == Scores::Dual && arguments.pruner.dual.choose == DualChoice::Beta;
  if (draws && arguments.mean_probabilities.empty()) {
    ask_for("--mean-probabilities FILE",
            "the mean probability of every sample's true class, or --choose top, strata or "
            "per-class");
  }
}

/// Everything that can be checked before an array is read.
void check_arguments(const CommandLine& line, const SelectArguments& arguments) {
  line.require("labels", arguments.labels);
  line.require("out", arguments.out);
  if (!arguments.ids.empty() && arguments.losses.empty()) {
    throw InvalidArgument(fmt::format("--ids {} without --losses; ids say whose losses are given",
                                      arguments.ids.string()));
  }
  check_paths_differ(arguments);
  for (const fs::path& output :
       {arguments.out, arguments.weights, arguments.filter, arguments.state}) {
    if (!output.empty()) check_can_write(output);
  }
}

bool parse_arguments(std::span<const std::string> words, SelectArguments& arguments) {
  arguments.pruner.common.threads = available_threads();
  CommandLine line("select", SelectSummary, SelectFooter);
  add_data_options(line, arguments);
  add_run_options(line, arguments);
  add_output_options(line, arguments);
  collect_method_options(line, WithWindows::Yes);
  if (!line.parse(words)) return false;
  set_method_options(arguments, line.given());
  check_arguments(line, arguments);
  return true;
}

std::shared_ptr<const ClassIndex> read_classes(const SelectArguments& arguments) {
  const IntegerArray labels = read_integers(arguments.labels, "labels");
  ClassIndex classes = std::visit(
      [&]<class Label>(const std::vector<Label>& values) {
        return ClassIndex(std::span<const Label>(values), arguments.class_count);
      },
      labels);
  if (arguments.lengths.empty()) return std::make_shared<const ClassIndex>(std::move(classes));
  return std::visit(
      [&](const auto& lengths) {
        return std::make_shared<const ClassIndex>(std::move(classes).with_lengths(lengths));
      },
      read_integers(arguments.lengths, "lengths"));
}

std::size_t count_of(const RealArray& array) {
  return std::visit([](const auto& values) { return values.size(); }, array);
}

void check_count(const fs::path& path, std::string_view what, std::size_t count,
                 std::int64_t wanted, std::string_view rule) {
  if (static_cast<std::int64_t>(count) == wanted) return;
  throw InvalidArgument(
      fmt::format("{}: holds {} {}, {} are needed: {}", path.string(), count, what, wanted, rule));
}

template <class Real>
std::vector<Real> read_as(const fs::path& path, std::string_view what, std::int64_t wanted,
                          std::string_view rule) {
  const RealArray array = read_reals(path, what);
  check_count(path, what, count_of(array), wanted, rule);
  return std::visit(
      [](const auto& values) {
        std::vector<Real> converted(values.size());
        std::transform(values.begin(), values.end(), converted.begin(),
                       [](auto value) { return static_cast<Real>(value); });
        return converted;
      },
      array);
}

std::unique_ptr<Pruner> make_new_pruner(SelectArguments& arguments,
                                        const std::shared_ptr<const ClassIndex>& classes) {
  if (!arguments.scores.empty()) {
    arguments.pruner.scores =
        read_as<float>(arguments.scores, "scores", classes->sample_count(), "one per sample");
  }
  if (!arguments.mean_probabilities.empty()) {
    arguments.pruner.mean_probabilities =
        read_as<float>(arguments.mean_probabilities, "mean probabilities", classes->sample_count(),
                       "one per sample");
  }
  if (!arguments.recalls.empty()) {
    arguments.pruner.recalls =
        read_as<double>(arguments.recalls, "recalls", classes->class_count(), "one per class");
  }
  return make_pruner(arguments.method, classes, arguments.pruner);
}

/// Gives the pruner losses of some samples: of the current selection, or left out by it where the
/// method asks for those.
template <class Real>
void observe_some(Pruner& pruner, std::span<const SampleId> ids, std::span<const Real> losses) {
  if (!pruner.refreshes() || pruner.epoch() < 0) return pruner.observe(ids, losses);
  const std::vector<SampleId>& left_out = pruner.select(pruner.epoch()).refresh_ids;
  std::vector<SampleId> trained_ids, other_ids;
  std::vector<Real> trained_losses, other_losses;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const bool was_left_out = std::ranges::binary_search(left_out, ids[i]);
    (was_left_out ? other_ids : trained_ids).push_back(ids[i]);
    (was_left_out ? other_losses : trained_losses).push_back(losses[i]);
  }
  pruner.observe(trained_ids, std::span<const Real>(trained_losses));
  pruner.observe_refreshed(other_ids, std::span<const Real>(other_losses));
}

/// Losses without ids: one per sample of the data set, of which those of the current
/// selection count, and of samples left out that the method asks for (before the first epoch: all).
/// In chunks: a list of all ids would take more memory than the pruner.
void observe_whole_array(Pruner& pruner, const SelectArguments& arguments,
                         const RealArray& losses) {
  const std::int64_t sample_count = pruner.classes().sample_count();
  check_count(arguments.losses, "losses", count_of(losses), sample_count,
              "one per sample; or name the samples with --ids");
  const bool of_all = pruner.epoch() < 0 || pruner.refreshes();
  std::span<const SampleId> selected;
  if (!of_all) selected = pruner.select(pruner.epoch()).ids;
  const std::int64_t count = of_all ? sample_count : std::ssize(selected);
  std::visit(
      [&]<class Real>(const std::vector<Real>& values) {
        std::vector<SampleId> chunk_ids;
        std::vector<Real> chunk_losses;
        for (std::int64_t first = 0; first < count; first += ObserveChunk) {
          chunk_ids.clear();
          chunk_losses.clear();
          for (std::int64_t k = first; k < std::min(count, first + ObserveChunk); ++k) {
            chunk_ids.push_back(of_all ? k : selected[static_cast<std::size_t>(k)]);
            chunk_losses.push_back(values[static_cast<std::size_t>(chunk_ids.back())]);
          }
          observe_some(pruner, chunk_ids, std::span<const Real>(chunk_losses));
        }
      },
      losses);
}

void observe_losses(Pruner& pruner, const SelectArguments& arguments) {
  const RealArray losses = read_reals(arguments.losses, "losses");
  if (arguments.ids.empty()) return observe_whole_array(pruner, arguments, losses);
  const std::vector<SampleId> ids = read_ids(arguments.ids);
  if (ids.size() != count_of(losses)) {
    throw InvalidArgument(fmt::format("{} holds {} ids, {} {} losses; each loss needs its id",
                                      arguments.ids.string(), ids.size(), arguments.losses.string(),
                                      count_of(losses)));
  }
  std::visit(
      [&]<class Real>(const std::vector<Real>& values) {
        observe_some(pruner, ids, std::span<const Real>(values));
      },
      losses);
}

/// The first call of a method that starts from losses must give all of them.
void check_initial_losses(const Pruner& pruner, const SelectArguments& arguments) {
  const std::int64_t sample_count = pruner.classes().sample_count();
  const bool needs_them = pruner.needs_initial_losses() || pruner.pending_count() < sample_count;
  if (pruner.epoch() >= 0 || !needs_them || pruner.pending_count() == 0) return;
  if (arguments.losses.empty()) {
    throw InvalidArgument(fmt::format(
        "--losses is missing: the first call of {} needs the loss of all {} samples before "
        "training; add --losses FILE, or start without them: --initial-loss first-epoch",
        arguments.method, sample_count));
  }
  throw InvalidArgument(
      fmt::format("{}: holds the losses of {} samples; the first call of {} needs those of all {}",
                  arguments.losses.string(), sample_count - pruner.pending_count(),
                  arguments.method, sample_count));
}

/// The epoch to select, from the state's epoch and --epoch.
std::int64_t epoch_to_select(const Pruner& pruner, const SelectArguments& arguments) {
  const std::int64_t last = pruner.epoch();
  const std::int64_t epoch = arguments.epoch.value_or(last + 1);
  if (last < 0) return epoch;
  if (epoch < last) {
    throw InvalidArgument(fmt::format(
        "--epoch {} is past: {} is at epoch {}; give {} to repeat that selection, or more to "
        "continue",
        epoch, arguments.state.string(), last, last));
  }
  if (epoch == last && !arguments.losses.empty()) {
    throw InvalidArgument(fmt::format(
        "--epoch {} with --losses: {} has selected epoch {} already; the losses of epoch {} belong "
        "to --epoch {}; leave out --losses to repeat the selection",
        epoch, arguments.state.string(), last, last, last + 1));
  }
  return epoch;
}

/// What a call did, for the report.
struct SelectResult {
  const Selection& selection;  ///< ascending; belongs to the pruner
  std::vector<std::int64_t> class_counts;
  std::int64_t unobserved_count;  ///< of the epoch before
  bool state_changed;
  bool finishes_last = false;  ///< the last call was interrupted, and this one repeats it
};

void check_weights_are_known(const Pruner& pruner, const SelectArguments& arguments) {
  if (arguments.weights.empty() || pruner.weighs()) return;
  throw InvalidArgument(
      fmt::format("--weights {}: {} gives all samples the same weight; infobatch and rcap with "
                  "--class-share robust have weights",
                  arguments.weights.string(), arguments.method));
}

/// A marker that exists next to a state from the moment the state is replaced until ids and weights
/// are too. It holds the epoch of the new state.
fs::path marker_of(const fs::path& state) {
  constexpr std::size_t LongestName = 200;  // leaves room for the ending in a file name
  return state.parent_path() / (state.filename().string().substr(0, LongestName) + ".unfinished");
}

/// Whether the last call was interrupted between its files. The state had moved on by then, so this
/// call repeats it: its losses are known, and the state has its selection.
bool repeats_unfinished(const Pruner& pruner, const SelectArguments& arguments) {
  const fs::path marker = marker_of(arguments.state);
  return !arguments.state.empty() && fs::exists(marker) &&
         read_text(marker, 100) == fmt::format("{}\n", pruner.epoch()) &&
         arguments.epoch.value_or(pruner.epoch()) == pruner.epoch();
}

/// In a loop that overwrites the last ids with the next ones, losses are always the newer file.
void require_newer_losses(const SelectArguments& arguments) {
  if (arguments.losses.empty() || !same_file(arguments.ids, arguments.out)) return;
  std::error_code error;
  const auto ids_time = fs::last_write_time(arguments.ids, error);
  if (error || fs::last_write_time(arguments.losses, error) >= ids_time || error) return;
  throw InvalidArgument(fmt::format(
      "{} is older than {}, so it does not hold their losses: the last call wrote these ids; train "
      "on them first (if the losses are theirs: touch {})",
      arguments.losses.string(), arguments.ids.string(), arguments.losses.string()));
}

SelectResult advance(Pruner& pruner, const SelectArguments& arguments) {
  if (!arguments.state.empty() && fs::exists(arguments.state)) pruner.load(arguments.state);
  const std::int64_t last_epoch = pruner.epoch();
  if (repeats_unfinished(pruner, arguments)) {
    const Selection& selection = pruner.select(last_epoch);
    return {selection, pruner.classes().count_by_class(selection.ids), 0, false, true};
  }
  require_newer_losses(arguments);
  const std::int64_t epoch = epoch_to_select(pruner, arguments);
  if (!arguments.losses.empty()) observe_losses(pruner, arguments);
  check_initial_losses(pruner, arguments);
  const bool goes_on = epoch > last_epoch;
  const std::int64_t unobserved_count = goes_on && last_epoch >= 0 ? pruner.pending_count() : 0;
  const Selection& selection = pruner.select(epoch);
  return {selection, pruner.classes().count_by_class(selection.ids), unobserved_count, goes_on};
}

/// Writes everything under temporary names first, so that a full disk changes nothing.
void write_outputs(const SelectArguments& arguments, const Selection& selection,
                   std::int64_t sample_count, const Pruner* changed_pruner) {
  StagedFile ids(arguments.out);
  write_npy(ids, std::span<const SampleId>(selection.ids));
  std::optional<StagedFile> weights;
  if (!arguments.weights.empty()) {
    const std::vector<float> ones(selection.weights.empty() ? selection.ids.size() : 0, 1.0f);
    write_npy(weights.emplace(arguments.weights),
              std::span<const float>(selection.weights.empty() ? ones : selection.weights));
  }
  std::optional<StagedFile> filter;
  if (!arguments.filter.empty()) {
    filter.emplace(arguments.filter).write(Filter(selection, sample_count).bytes());
  }
  std::optional<StagedFile> state;
  if (!arguments.state.empty() && changed_pruner != nullptr) {
    state.emplace(arguments.state);
    changed_pruner->write_state([&](std::span<const std::byte> bytes) { state->write(bytes); });
  }
  ids.sync();
  if (weights) weights->sync();
  if (filter) filter->sync();
  if (state) state->sync();
  const auto publish_selection = [&] {
    ids.publish();
    if (weights) weights->publish();
    if (filter) filter->publish();
  };
  if (arguments.state.empty()) return publish_selection();
  const fs::path marker = marker_of(arguments.state);
  if (state) write_text(marker, fmt::format("{}\n", selection.epoch));
  try {
    if (state) state->publish();
    publish_selection();
    fs::remove(marker);
  } catch (const std::exception& error) {
    throw Unfinished(fmt::format("{}; repeat the command to continue from there", error.what()));
  }
}

std::int64_t tokens_of(const ClassIndex& classes, const Selection& selection) {
  const auto tokens = classes.tokens_by_class(selection.ids);
  return std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0});
}

void print_json(const SelectArguments& arguments, const Pruner& pruner, const SelectResult& result,
                double seconds) {
  nlohmann::ordered_json json;
  json["method"] = arguments.method;
  json["epoch"] = result.selection.epoch;
  json["seed"] = arguments.pruner.common.seed;
  json["n"] = pruner.classes().sample_count();
  json["classes"] = pruner.classes().class_count();
  json["keep_count"] = pruner.keep_count();
  json["selected"] = result.selection.ids.size();
  if (pruner.classes().has_lengths()) {
    json["tokens"] = pruner.classes().token_count();
    json["keep_tokens"] = pruner.keep_tokens();
    json["selected_tokens"] = tokens_of(pruner.classes(), result.selection);
  }
  json["to_refresh"] = result.selection.refresh_ids.size();
  json["rate_factor"] = result.selection.rate_factor;
  if (result.class_counts.size() <= MostClassesListed) json["class_counts"] = result.class_counts;
  json["seconds"] = seconds;
  fmt::print("{}\n", json.dump());
}

/// "class fractions 0.08 (class 3) to 0.14 (class 6)", over the classes that have samples.
std::string describe_fractions(const ClassIndex& classes, std::span<const std::int64_t> counts) {
  std::vector<std::pair<double, std::size_t>> fractions;
  for (std::size_t j = 0; j < counts.size(); ++j) {
    const std::int64_t size = classes.class_sizes()[j];
    if (size > 0)
      fractions.emplace_back(static_cast<double>(counts[j]) / static_cast<double>(size), j);
  }
  const auto [lowest, highest] = std::minmax_element(fractions.begin(), fractions.end());
  return fmt::format("class fractions {:.4g} (class {}) to {:.4g} (class {})", lowest->first,
                     lowest->second, highest->first, highest->second);
}

void print_summary(const SelectArguments& arguments, const Pruner& pruner,
                   const SelectResult& result) {
  fmt::print("{}, epoch {}: selected {} of {} samples\n", arguments.method, result.selection.epoch,
             result.selection.ids.size(), pruner.classes().sample_count());
  if (pruner.classes().has_lengths()) {
    fmt::print("{} of {} tokens, for a budget of {}\n",
               tokens_of(pruner.classes(), result.selection), pruner.classes().token_count(),
               pruner.keep_tokens());
  }
  if (result.finishes_last) {
    fmt::print("the last call was interrupted after it took its losses; this is its selection\n");
  }
  fmt::print("{}\n", describe_fractions(pruner.classes(), result.class_counts));
  const bool listens = !arguments.losses.empty() || pruner.needs_initial_losses();
  if (listens && result.unobserved_count > 0) {
    fmt::print("{} samples of the last selection were not observed and keep their losses\n",
               result.unobserved_count);
  }
  const std::string remark = remark_on_budget(pruner, arguments.pruner.common.pruning_rate);
  if (!remark.empty()) fmt::print("note: {}\n", remark);
  if (!result.selection.refresh_ids.empty()) {
    fmt::print(
        "{} asks for the losses of the {} samples that it left out, from a forward pass after the "
        "epoch: give --losses of all samples, or name them too in --ids\n",
        arguments.method, result.selection.refresh_ids.size());
  }
  if (result.selection.rate_factor != 1) {
    fmt::print("multiply the learning rate of this epoch by {:.4g}\n",
               result.selection.rate_factor);
  }
  if (!result.selection.weights.empty() && arguments.weights.empty() && arguments.filter.empty()) {
    fmt::print("the losses of these samples have weights; --weights FILE writes them\n");
  }
  fmt::print("ids in {}{}{}{}\n", arguments.out.string(),
             arguments.weights.empty() ? "" : ", weights in " + arguments.weights.string(),
             arguments.filter.empty() ? "" : ", filter in " + arguments.filter.string(),
             arguments.state.empty() ? "" : ", state in " + arguments.state.string());
}

}  // namespace

void run_select(std::span<const std::string> words) {
  SelectArguments arguments;
  if (!parse_arguments(words, arguments)) return;
  const auto start = std::chrono::steady_clock::now();
  const std::unique_ptr<Pruner> pruner = make_new_pruner(arguments, read_classes(arguments));
  check_weights_are_known(*pruner, arguments);
  const SelectResult result = advance(*pruner, arguments);
  const Pruner* changed_pruner = result.state_changed ? pruner.get() : nullptr;
  const std::int64_t sample_count = pruner->classes().sample_count();
  if (arguments.order == OutputOrder::Training) {
    const std::uint64_t seed = arguments.pruner.common.seed;
    write_outputs(arguments, in_training_order(result.selection, seed), sample_count,
                  changed_pruner);
  } else {
    write_outputs(arguments, result.selection, sample_count, changed_pruner);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (arguments.json) {
    print_json(arguments, *pruner, result, seconds.count());
  } else if (!arguments.quiet) {
    print_summary(arguments, *pruner, result);
  }
}

}  // namespace rcap::cli
