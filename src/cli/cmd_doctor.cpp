#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/version.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/external_command.hpp"
#include "cli/machine.hpp"
#include "data/sets/catalogue.hpp"
#include "rcap/core/make_pruner.hpp"
#include "train/score_kinds.hpp"

namespace rcap::cli {
namespace {

constexpr double GiB = 1024.0 * 1024.0 * 1024.0;
constexpr const char* TrainCommand = "train";

/// A data set that has a usual place, and which of its files are there.
struct DataSet {
  const CatalogueEntry& entry;
  std::vector<LocatedFile> files;

  [[nodiscard]] bool found() const {
    return std::all_of(files.begin(), files.end(),
                       [](const LocatedFile& file) { return file.bytes.has_value(); });
  }
};

std::vector<DataSet> look_for_data_sets() {
  std::vector<DataSet> found;
  for (const CatalogueEntry& entry : catalogue()) {
    if (entry.default_folder.empty()) continue;
    found.push_back({entry, locate_files(entry, entry.default_folder)});
  }
  return found;
}

nlohmann::ordered_json to_json(const DataSet& data) {
  nlohmann::ordered_json json;
  json["name"] = data.entry.name;
  json["folder"] = data.entry.default_folder;
  json["found"] = data.found();
  json["files"] = nlohmann::ordered_json::array();
  for (const LocatedFile& file : data.files) {
    if (file.bytes) json["files"].push_back({{"name", file.name}, {"bytes", *file.bytes}});
  }
  if (!data.found()) json["remedy"] = data.entry.remedy;
  return json;
}

nlohmann::ordered_json to_json(const MethodInfo& method) {
  constexpr const char* FirstPasses[] = {"none", "forward", "training"};
  constexpr const char* Budgets[] = {"every-epoch", "whole-run", "none"};
  const PrunerOptions usual;
  const bool scored = method.needs_scores != Scores::None;
  return {{"name", method.name},
          {"summary", method.summary},
          {"learns", method.learns(usual)},
          {"static", method.is_static},
          {"keeps_all", method.keeps_all},
          {"refreshes", method.refreshes(usual)},
          {"budget", Budgets[static_cast<int>(method.budget(usual))]},
          {"needs_scores", scored ? score_kind(method.needs_scores).name : "none"},
          {"first_pass", FirstPasses[static_cast<int>(method.first_pass(usual))]}};
}

void print_json() {
  nlohmann::ordered_json json;
  json["version"] = version();
  json["revision"] = revision();
  json["compiler"] = compiler_version();
  json["cpp_standard"] = cpp_standard();
  json["libc"] = libc_version();
  json["cpu"]["model"] = cpu_model();
  for (const CpuFeature& feature : cpu_features()) {
    json["cpu"]["features"][feature.name] = feature.present;
  }
  json["threads"] = available_threads();
  const Memory memory = machine_memory();
  json["memory_bytes"] = memory.total_bytes;
  json["memory_available_bytes"] = memory.available_bytes;
  const auto train = find_external_command(TrainCommand);
  json["train_program"] = train ? nlohmann::ordered_json(train->string()) : nullptr;
  json["methods"] = nlohmann::ordered_json::array();
  for (const MethodInfo& method : methods()) json["methods"].push_back(to_json(method));
  json["datasets"] = nlohmann::ordered_json::array();
  for (const DataSet& data : look_for_data_sets()) json["datasets"].push_back(to_json(data));
  fmt::print("{}\n", json.dump());
}

void print_data_set(const DataSet& data) {
  if (!data.found()) {
    fmt::print("{:<10} {} not found in {}: {}\n", "data set", data.entry.name,
               data.entry.default_folder, data.entry.remedy);
    return;
  }
  fmt::print("{:<10} {} in {}\n", "data set", data.entry.name, data.entry.default_folder);
  for (const LocatedFile& file : data.files) {
    fmt::print("{:<10}   {:>10} bytes  {}\n", "", *file.bytes, file.name);
  }
}

void print_text() {
  const auto row = [](std::string_view name, const std::string& value) {
    fmt::print("{:<10} {}\n", name, value);
  };
  row("rcap", version_and_revision());
  row("built with", fmt::format("{}, {}", compiler_version(), cpp_standard()));
  row("runs with", libc_version());
  row("cpu", cpu_model());
  std::vector<std::string> features;
  for (const CpuFeature& feature : cpu_features()) {
    features.push_back((feature.present ? "" : "no ") + feature.name);
  }
  row("", fmt::format("{}", fmt::join(features, ", ")));
  row("threads", std::to_string(available_threads()));
  const Memory memory = machine_memory();
  row("memory",
      fmt::format("{:.1f} GiB, {:.1f} available", static_cast<double>(memory.total_bytes) / GiB,
                  static_cast<double>(memory.available_bytes) / GiB));
  const auto train = find_external_command(TrainCommand);
  row("training", train ? train->string() : "no program rcap-train next to this one");
  for (const DataSet& data : look_for_data_sets()) print_data_set(data);
}

}  // namespace

void run_doctor(std::span<const std::string> words) {
  bool json = false;
  CommandLine line(
      "doctor",
      "Prints what rcap finds here: versions, processor, memory, data sets; with --json, methods "
      "too.",
      "Example: rcap doctor --json");
  line.group("Output");
  line.flag("json", json, "print one JSON object");
  if (!line.parse(words)) return;
  if (json) {
    print_json();
  } else {
    print_text();
  }
}

}  // namespace rcap::cli
