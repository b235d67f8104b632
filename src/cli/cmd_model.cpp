#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/command_line.hpp"
#include "cli/machine.hpp"
#include "cli/run_main.hpp"
#include "cli/tell.hpp"
#include "io/safetensors_format.hpp"
#include "io/weight_file.hpp"
#include "models/forward_once.hpp"
#include "models/model_info.hpp"

namespace rcap::cli {
namespace {

constexpr const char* ListSummary = "Lists the networks.";
constexpr const char* InspectSummary =
    "Shows the tensors of a weight file (safetensors or PyTorch): names, types and shapes.";
constexpr const char* ForwardSummary = "Runs a network once, to compare it with another program.";
constexpr const char* ForwardFooter =
    R"(The input has x, N x C x H x W, and for --train the labels y. The output has logits; with
--train (statistics of the batch, no dropout) also train_logits, train_losses, train_loss,
grad.NAME of every trained parameter and buf.NAME of every buffer; for dinov2-mlp tok_cls,
tok_reg, tok_patch and feat.NAME of each kind of features.

Example: rcap model forward --model resnet50 --weights resnet50.pth --input in.safetensors \
           --output out.safetensors)";

std::string_view name_of(TensorType type) { return safetensors::row_of(type).name; }

void list_models(std::span<const std::string> words) {
  bool json = false;
  CommandLine line("model list", ListSummary, "Weights for them: docs/models.md");
  line.flag("json", json, "print one JSON object");
  if (!line.parse(words)) return;
  if (json) {
    nlohmann::ordered_json object;
    for (const ModelInfo& info : models()) object[std::string(info.name)] = info.summary;
    return fmt::print("{}\n", object.dump());
  }
  for (const ModelInfo& info : models()) fmt::print("{:<22} {}\n", info.name, info.summary);
}

void print_as_json(const WeightFile& file) {
  nlohmann::ordered_json::object_t object;
  for (const TensorView& view : file.tensors()) {
    // Names are unique; checking whether a name exists already would take longer and longer.
    object.push_back({view.name, {{"type", name_of(view.type)}, {"shape", view.shape}}});
  }
  fmt::print("{}\n", nlohmann::ordered_json(std::move(object)).dump());
}

void inspect_file(std::span<const std::string> words) {
  std::filesystem::path path;
  bool json = false;
  CommandLine line("model inspect", InspectSummary,
                   "Example: rcap model inspect --weights resnet50.pth");
  line.path("weights", path, "FILE", "weights, safetensors or .pth; required");
  line.flag("json", json, "print one JSON object");
  if (!line.parse(words)) return;
  line.require("weights", path);
  const WeightFile file(path);
  if (json) return print_as_json(file);
  std::size_t elements = 0;
  for (const TensorView& view : file.tensors()) {
    elements += view.data.size() / bytes_of(view.type);
    fmt::print("{:<52} {:<5} {}\n", view.name, name_of(view.type), fmt::join(view.shape, " x "));
  }
  fmt::print("{} tensors, {} numbers\n", file.tensors().size(), elements);
}

void run_forward(std::span<const std::string> words) {
  ForwardOptions options;
  options.threads = available_threads();
  CommandLine line("model forward", ForwardSummary, ForwardFooter);
  line.text("model", options.model, "NAME", "a network, see rcap model list; required");
  line.path("weights", options.weights, "FILE", "weights, safetensors or .pth [random]");
  line.path("input", options.input, "FILE", "safetensors with x (and y); required");
  line.path("output", options.output, "FILE", "safetensors file to write; required");
  line.flag("train", options.train, "also make a training pass, with gradients");
  line.count("classes", options.class_count, "C", "number of classes [of the weights, or 1000]",
             Range::at_least(1));
  list_options(line, options.dino);
  line.count("seed", options.seed, "S", "seed of random weights");
  line.threads(options.threads, "number of threads; sums round differently with another number");
  if (!line.parse(words)) return;
  if (options.model.empty()) {
    throw InvalidArgument("--model is missing; see rcap model list");
  }
  line.require("input", options.input);
  line.require("output", options.output);
  const std::string remark = forward_once(options);
  if (!remark.empty()) tell("note: {}: {}\n", options.weights.string(), remark);
}

struct Part {
  std::string_view name;
  std::string_view summary;
  void (*run)(std::span<const std::string>);
};

constexpr Part Parts[] = {
    {"list", "the networks", list_models},
    {"inspect", "the tensors of a weight file", inspect_file},
    {"forward", "run a network once, to compare it with another program", run_forward},
};

void print_help() {
  fmt::print("Networks and their weights.\n\nUsage: rcap model {}\n\n", "list|inspect|forward");
  for (const Part& part : Parts) fmt::print("  {:<8} {}\n", part.name, part.summary);
  fmt::print("\nrcap model list --help and so on show the options.\n");
}

void run_model(std::span<const std::string> words) {
  const std::string first = words.empty() ? "" : words.front();
  if (first == "--help" || first == "-h") return print_help();
  for (const Part& part : Parts) {
    if (part.name == first) return part.run(words.subspan(1));
  }
  throw InvalidArgument(
      fmt::format("rcap model: {} list, inspect, forward; see rcap model --help",
                  first.empty() ? "give one of" : "\"" + first + "\" is not one of"));
}

}  // namespace
}  // namespace rcap::cli

int main(int argc, char** argv) { return rcap::cli::run_main(argc, argv, rcap::cli::run_model); }
