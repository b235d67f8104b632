#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/make_folder.hpp"
#include "base/text_file.hpp"
#include "cli/command_line.hpp"
#include "cli/run_main.hpp"
#include "rcap/core/error.hpp"
#include "study/loss_gradient_figure.hpp"
#include "study/rank_correlation.hpp"
#include "train/loss_gradient.hpp"

namespace rcap::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* LossVsGradient = "loss-vs-gradient";
constexpr const char* LossVsGradientSummary =
    "Shows how closely the loss of an example follows the norm of its gradient.\n\n"
    "RCAP prefers samples of high loss, as a cheap stand-in for a large gradient. Here a small\n"
    "network learns 90 points of 3 classes with Adam. For ten of them it records loss and\n"
    "gradient norm after every epoch, and how well their ranks agree.";
constexpr const char* LossVsGradientFooter =
    R"(Writes DIR/loss_vs_gradient.svg and DIR/loss_vs_gradient.csv (epoch, example, class, loss,
gradient_norm; epoch 0 is before training) and prints Spearman's correlation of loss and gradient
norm over the epochs of each example: 1 if they always rise and fall together, n/a if one of them
never changes.

Example: rcap figure loss-vs-gradient --out figures)";

void print_json(const std::vector<ExampleTrace>& traces) {
  nlohmann::ordered_json object;
  object["examples"] = nlohmann::ordered_json::array();
  for (const ExampleTrace& trace : traces) {
    nlohmann::ordered_json example{{"example", trace.example}, {"class", trace.label}};
    const auto correlation = spearman_correlation(trace.losses, trace.gradient_norms);
    example["spearman"] = correlation ? nlohmann::ordered_json(*correlation) : nullptr;
    object["examples"].push_back(std::move(example));
  }
  fmt::print("{}\n", object.dump());
}

void print_table(const std::vector<ExampleTrace>& traces, const fs::path& svg,
                 const fs::path& csv) {
  fmt::print("example  class  Spearman\n");
  for (const ExampleTrace& trace : traces) {
    fmt::print("{:>7}  {:>5}  {:>8}\n", trace.example, trace.label, correlation_text(trace));
  }
  fmt::print("\n{}\n{}\n", svg.string(), csv.string());
}

void run_loss_vs_gradient(std::span<const std::string> words) {
  LossGradientOptions options;
  fs::path folder;
  bool json = false;
  CommandLine line(fmt::format("figure {}", LossVsGradient), LossVsGradientSummary,
                   LossVsGradientFooter);
  line.path("out", folder, "DIR", "where the two files go; required");
  line.count("epochs", options.epochs, "E", "number of training epochs", Range::between(1, 100000));
  line.count("seed", options.seed, "S", "seed of the points, the network and the ten examples");
  line.flag("json", json, "print the correlations as one JSON object");
  if (!line.parse(words)) return;
  line.require("out", folder);
  make_folder(folder);
  const std::vector<ExampleTrace> traces = trace_losses_and_gradients(options);
  const fs::path svg = folder / "loss_vs_gradient.svg";
  const fs::path csv = folder / "loss_vs_gradient.csv";
  write_text(svg, loss_gradient_figure(traces));
  write_text(csv, loss_gradient_csv(traces));
  if (json) return print_json(traces);
  print_table(traces, svg, csv);
}

void print_help() {
  fmt::print(
      "Draws figures that need no study; those of a study come from rcap study.\n\n"
      "Usage: rcap figure {0}\n\n"
      "  {0}  loss and gradient norm of single examples over training\n\n"
      "rcap figure {0} --help shows the options.\n",
      LossVsGradient);
}

void run_figure(std::span<const std::string> words) {
  const std::string first = words.empty() ? "" : words.front();
  if (first == "--help" || first == "-h") return print_help();
  if (first == LossVsGradient) return run_loss_vs_gradient(words.subspan(1));
  throw InvalidArgument(
      fmt::format("rcap figure: {}; there is {}; see rcap figure --help",
                  first.empty() ? "a figure is missing" : "there is no figure \"" + first + "\"",
                  LossVsGradient));
}

}  // namespace
}  // namespace rcap::cli

int main(int argc, char** argv) { return rcap::cli::run_main(argc, argv, rcap::cli::run_figure); }
