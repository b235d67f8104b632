#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/staged_file.hpp"
#include "base/text_file.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/machine.hpp"
#include "io/npy.hpp"
#include "rcap/core/advise.hpp"
#include "rcap/core/error.hpp"
#include "study/advice_figure.hpp"

namespace rcap::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t MostClassesInJson = 10000;

constexpr const char* AdviseSummary =
    "Says from the labels, before any training, whether pruning will help.\n\n"
    "It shows what each rule would keep of each class at each rate, how much work a run would\n"
    "save, and which rule and rate to try first, with the reasons.";
constexpr const char* AdviseFooter =
    R"(The rules are rs2 (a random part), balanced (equal counts), and rcap with its class shares:
robust, the default, paper, mass and group. Their counts come from real selections. The
speed-up is arithmetic in samples, not a measurement of seconds: a forward pass counts 1,
training on a sample 3, and the pass before training and the evaluations are added. Each
reason says whether it was computed from what you gave or measured in a study, and in which.

Examples: labels alone; with losses of an untrained network, evaluations, and a figure
  rcap advise --labels labels.npy
  rcap advise --labels labels.npy --losses losses.npy --pruning-rate 0.7,0.8 --epochs 30 \
    --test-samples 10000 --evaluate-every 1 --figure advice.svg

To save labels from Python: numpy.save("labels.npy", labels).)";

struct AdviseArguments {
  fs::path labels, losses;
  std::vector<std::string> pruning_rates;
  std::optional<ClassId> class_count;
  AdviseOptions options;
  fs::path figure;
  bool json = false;
};

std::vector<std::string> words_of(const std::vector<double>& numbers) {
  std::vector<std::string> words;
  for (const double number : numbers) words.push_back(fmt::format("{}", number));
  return words;
}

/// Reads rates as every other command does, so that messages are the same.
std::vector<double> rates_of(const std::vector<std::string>& words) {
  std::vector<double> rates;
  for (const std::string& word : words) {
    CommonOptions common;
    OptionFields fields;
    list_options(fields, common);
    fields.find("pruning_rate")->set(word, Reader::CommandLine);
    check(fields, Reader::CommandLine);
    rates.push_back(common.pruning_rate);
  }
  if (rates.empty()) {
    throw InvalidArgument("--pruning-rate has no number; give one or several: 0.5,0.7,0.9");
  }
  return rates;
}

/// A figure must not overwrite what it is made from.
void check_figure_path(const AdviseArguments& arguments) {
  if (arguments.figure.empty()) return;
  for (const fs::path& input : {arguments.labels, arguments.losses}) {
    std::error_code not_there;
    if (input.empty() || !fs::equivalent(arguments.figure, input, not_there)) continue;
    throw InvalidArgument(fmt::format("--figure {} is also an input file; choose another name",
                                      arguments.figure.string()));
  }
  check_can_write(arguments.figure);
}

bool parse_arguments(std::span<const std::string> words, AdviseArguments& arguments) {
  arguments.options.threads = available_threads();
  arguments.pruning_rates = words_of(arguments.options.pruning_rates);
  CommandLine line("advise", AdviseSummary, AdviseFooter);
  line.group("Data (.npy, one dimension)");
  line.path("labels", arguments.labels, "FILE", "class of every sample, integers; required");
  line.count("classes", arguments.class_count, "C", "number of classes [largest label + 1]");
  line.path("losses", arguments.losses, "FILE",
            "loss of every sample, e.g. before training; without it all are treated as equal");
  line.group("Plan");
  line.list("pruning_rate", arguments.pruning_rates, "R,R,...",
            "fractions removed, each 0 <= R < 1");
  list_options(line, arguments.options);
  line.config();
  line.group("Output");
  line.path("figure", arguments.figure, "FILE", "draw what each rule keeps of each class (SVG)");
  line.flag("json", arguments.json, "print the advice as one JSON object");
  if (!line.parse(words)) return false;
  line.require("labels", arguments.labels);
  arguments.options.pruning_rates = rates_of(arguments.pruning_rates);
  check_figure_path(arguments);
  return true;
}

std::shared_ptr<const ClassIndex> read_label_file(const AdviseArguments& arguments) {
  return std::visit(
      [&]<class Label>(const std::vector<Label>& values) {
        return std::make_shared<const ClassIndex>(std::span<const Label>(values),
                                                  arguments.class_count);
      },
      read_integers(arguments.labels, "labels"));
}

std::vector<double> read_loss_file(const AdviseArguments& arguments, std::int64_t sample_count) {
  if (arguments.losses.empty()) return {};
  std::vector<double> losses = std::visit(
      [](const auto& values) { return std::vector<double>(values.begin(), values.end()); },
      read_reals(arguments.losses, "losses"));
  if (std::cmp_not_equal(losses.size(), sample_count)) {
    throw InvalidArgument(fmt::format("{}: holds {} losses, {} are needed: one per sample",
                                      arguments.losses.string(), losses.size(), sample_count));
  }
  return losses;
}

Json json_of(const Work& work) {
  return {{"training", work.training},
          {"first_pass", work.first_pass},
          {"evaluation", work.evaluation},
          {"total", work.total()}};
}

Json json_of(const RuleOutcome& outcome) {
  Json json{
      {"rule", outcome.rule}, {"speed_up", outcome.speed_up}, {"work", json_of(outcome.work)}};
  if (outcome.class_counts.size() <= MostClassesInJson) json["class_counts"] = outcome.class_counts;
  return json;
}

Json json_of(const RateAdvice& rate) {
  Json json{{"pruning_rate", rate.pruning_rate}, {"keep_count", rate.keep_count}};
  if (!rate.remark.empty()) json["remark"] = rate.remark;
  json["rules"] = Json::array();
  for (const RuleOutcome& outcome : rate.rules) json["rules"].push_back(json_of(outcome));
  return json;
}

Json json_of(const Suggestion& suggestion) {
  Json json{{"verdict", name_of(suggestion.verdict)},
            {"rule", suggestion.rule},
            {"pruning_rate", suggestion.pruning_rate},
            {"speed_up", suggestion.speed_up},
            {"points_lost", suggestion.points_lost ? Json(*suggestion.points_lost) : Json(nullptr)},
            {"beta", suggestion.auto_beta ? Json("auto") : Json(1)},
            {"reasons", Json::array()}};
  for (const Reason& reason : suggestion.reasons) {
    json["reasons"].push_back(
        {{"basis", name_of(reason.basis)}, {"source", reason.source}, {"text", reason.text}});
  }
  return json;
}

Json json_of(const Advice& advice) {
  Json json{{"n", advice.sample_count},
            {"classes", advice.class_sizes.size()},
            {"filled_classes", advice.filled_class_count},
            {"smallest_class", advice.smallest_class},
            {"largest_class", advice.largest_class},
            {"imbalance", advice.imbalance}};
  if (advice.class_sizes.size() <= MostClassesInJson) json["class_sizes"] = advice.class_sizes;
  if (advice.losses) {
    json["losses"] = {{"mean", advice.losses->mean},
                      {"lowest_class_mean", advice.losses->lowest},
                      {"highest_class_mean", advice.losses->highest},
                      {"lowest_class", advice.losses->lowest_class},
                      {"highest_class", advice.losses->highest_class}};
  }
  json["counts_are"] = advice.losses ? "first epoch, losses given" : "first epoch, equal losses";
  json["epochs"] = advice.options.epochs;
  json["test_samples"] = advice.options.test_samples;
  json["evaluate_every"] = advice.options.evaluate_every;
  json["seed"] = advice.options.seed;
  json["work_is"] = "an estimate in forward passes of one sample, not a measurement of seconds";
  json["full_work"] = json_of(advice.full_work);
  json["rates"] = Json::array();
  for (const RateAdvice& rate : advice.rates) json["rates"].push_back(json_of(rate));
  json["suggestion"] = json_of(advice.suggestion);
  return json;
}

}  // namespace

void run_advise(std::span<const std::string> words) {
  AdviseArguments arguments;
  if (!parse_arguments(words, arguments)) return;
  const std::shared_ptr<const ClassIndex> classes = read_label_file(arguments);
  const std::vector<double> losses = read_loss_file(arguments, classes->sample_count());
  const Advice advice = advise(classes, losses, arguments.options);
  if (!arguments.figure.empty()) write_text(arguments.figure, advice_figure(advice));
  if (arguments.json) return fmt::print("{}\n", json_of(advice).dump());
  fmt::print("{}", describe(advice));
  if (!arguments.figure.empty()) fmt::print("\nfigure in {}\n", arguments.figure.string());
}

}  // namespace rcap::cli
