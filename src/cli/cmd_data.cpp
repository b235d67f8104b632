#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/data_report.hpp"
#include "data/open_dataset.hpp"
#include "data/sets/catalogue.hpp"
#include "rcap/core/error.hpp"

namespace rcap::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* DataUsage =
    "rcap data list, rcap data verify [NAME|FILE] [--data DIR], rcap data pack --dataset NAME "
    "--out FILE";

bool all_there(const CatalogueEntry& entry) {
  if (entry.default_folder.empty()) return false;
  return std::ranges::all_of(locate_files(entry, entry.default_folder),
                             [](const LocatedFile& file) { return file.bytes.has_value(); });
}

/// Where the data set is, or how to get it.
std::string describe_place(std::string_view name) {
  const CatalogueEntry* entry = find_in_catalogue(name);
  if (name == "synthetic") return "always available";
  if (name == "table") return "give the file, or the folder of both splits, with --data PATH";
  if (entry == nullptr) return "give its folder with --data DIR";
  if (all_there(*entry)) return fmt::format("in {}", entry->default_folder);
  if (!entry->default_folder.empty()) return std::string(entry->remedy);
  return fmt::format("{}, give the folder with --data DIR", entry->remedy);
}

Json describe_as_json(const DatasetInfo& info) {
  const CatalogueEntry* entry = find_in_catalogue(info.name);
  Json json;
  json["name"] = info.name;
  json["summary"] = info.summary;
  json["found"] = info.name == "synthetic" || (entry != nullptr && all_there(*entry));
  json["folder"] = entry == nullptr || entry->default_folder.empty()
                       ? Json(nullptr)
                       : Json(std::string(entry->default_folder));
  json["address"] = entry == nullptr ? Json(nullptr) : Json(std::string(entry->address));
  json["archives"] = Json::array();
  if (entry == nullptr) return json;
  for (const OfficialArchive& archive : entry->archives) {
    json["archives"].push_back(to_json(archive));
  }
  return json;
}

void run_list(std::span<const std::string> words) {
  bool json = false;
  CommandLine line("data list", "Lists the data sets that rcap opens by name.",
                   "Example: rcap data list --json");
  line.group("Output");
  line.flag("json", json, "print one JSON object");
  if (!line.parse(words)) return;
  if (!json) {
    for (const DatasetInfo& info : datasets()) {
      fmt::print("{:<14} {}\n{:<14} {}\n", info.name, info.summary, "", describe_place(info.name));
    }
    return;
  }
  Json list;
  list["datasets"] = Json::array();
  for (const DatasetInfo& info : datasets()) list["datasets"].push_back(describe_as_json(info));
  fmt::print("{}\n", list.dump());
}

}  // namespace

void run_data(std::span<const std::string> words) {
  const std::string what = words.empty() ? "" : words.front();
  if (what == "list") return run_list(words.subspan(1));
  if (what == "verify") return run_data_verify(words.subspan(1));
  if (what == "pack") return run_data_pack(words.subspan(1));
  if (what == "--help" || what == "-h") {
    fmt::print("Usage: {}; add --help to any of them to see its options\n", DataUsage);
    return;
  }
  throw InvalidArgument(fmt::format("data \"{}\" does not exist; there are {}", what, DataUsage));
}

}  // namespace rcap::cli
