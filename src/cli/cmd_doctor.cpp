#include "cli/cmd_doctor.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/command_line.hpp"
#include "cli/external_command.hpp"
#include "cli/machine.hpp"

namespace rcap::cli {
namespace {

namespace fs = std::filesystem;

constexpr double GiB = 1024.0 * 1024.0 * 1024.0;
constexpr const char* TrainCommand = "train";

struct DataFile {
  std::string name;
  std::optional<std::uint64_t> bytes;  ///< nothing where the file is not there
};

struct DataSet {
  std::string name;
  fs::path folder;
  std::string remedy;
  std::vector<DataFile> files;

  [[nodiscard]] bool found() const {
    for (const DataFile& file : files) {
      if (!file.bytes) return false;
    }
    return true;
  }
};

DataSet look_for_fashion_mnist() {
  DataSet data{"fashion-mnist",
               "/usr/share/datasets/fashion-mnist",
               "install Debian's dataset-fashion-mnist",
               {}};
  for (const char* name : {"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz",
                           "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"}) {
    std::error_code error;
    const std::uint64_t bytes = fs::file_size(data.folder / name, error);
    data.files.push_back({name, error ? std::nullopt : std::optional(bytes)});
  }
  return data;
}

nlohmann::ordered_json to_json(const DataSet& data) {
  nlohmann::ordered_json json;
  json["name"] = data.name;
  json["folder"] = data.folder.string();
  json["found"] = data.found();
  json["files"] = nlohmann::ordered_json::array();
  for (const DataFile& file : data.files) {
    if (file.bytes) json["files"].push_back({{"name", file.name}, {"bytes", *file.bytes}});
  }
  if (!data.found()) json["remedy"] = data.remedy;
  return json;
}

void print_json() {
  nlohmann::ordered_json json;
  json["version"] = rcap_version();
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
  json["datasets"] = nlohmann::ordered_json::array({to_json(look_for_fashion_mnist())});
  fmt::print("{}\n", json.dump());
}

void print_data_set(const DataSet& data) {
  if (!data.found()) {
    fmt::print("{:<10} {} not found in {}: {}\n", "data set", data.name, data.folder.string(),
               data.remedy);
    return;
  }
  fmt::print("{:<10} {} in {}\n", "data set", data.name, data.folder.string());
  for (const DataFile& file : data.files)
    fmt::print("{:<10}   {:>10} bytes  {}\n", "", *file.bytes, file.name);
}

void print_text() {
  const auto row = [](std::string_view name, const std::string& value) {
    fmt::print("{:<10} {}\n", name, value);
  };
  row("rcap", rcap_version());
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
  row("training", train ? train->string() : "no program rcap-train beside this one");
  print_data_set(look_for_fashion_mnist());
}

}  // namespace

void run_doctor(std::span<const std::string> words) {
  bool json = false;
  CommandLine line("doctor", "Prints what rcap finds here: versions, processor, memory, data sets.",
                   "Example: rcap doctor --json");
  line.group("Output");
  line.flag("--json", json, "print one JSON object");
  if (!line.parse(words)) return;
  if (json) {
    print_json();
  } else {
    print_text();
  }
}

}  // namespace rcap::cli
