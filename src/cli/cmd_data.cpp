#include "cli/cmd_data.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/command_line.hpp"
#include "cli/machine.hpp"
#include "cli/nearest_name.hpp"
#include "cli/progress_bar.hpp"
#include "rcap/core/error.hpp"
#include "rcap/data/catalogue.hpp"
#include "rcap/data/image_folder.hpp"
#include "rcap/data/open_dataset.hpp"

namespace rcap::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* Usage = "rcap data list, rcap data verify [NAME] [--data DIR]";
constexpr std::string_view ImageFolder = "image-folder";

// ---- rcap data list ----------------------------------------------------------------------

bool all_there(const CatalogueEntry& entry) {
  if (entry.default_folder.empty()) return false;
  const std::vector<LocatedFile> files = locate_files(entry, entry.default_folder);
  return std::all_of(files.begin(), files.end(),
                     [](const LocatedFile& file) { return file.bytes.has_value(); });
}

/// Where the data set is, or what to do to have it.
std::string describe_place(std::string_view name) {
  const CatalogueEntry* entry = find_in_catalogue(name);
  if (name == "synthetic") return "always there";
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
  return json;
}

void run_list(std::span<const std::string> words) {
  bool json = false;
  CommandLine line("data list", "Lists the data sets that rcap opens by name.",
                   "Example: rcap data list --json");
  line.group("Output");
  line.flag("--json", json, "print one JSON object");
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

// ---- rcap data verify --------------------------------------------------------------------

struct VerifyArguments {
  std::string name;  ///< empty: all that have a usual place
  fs::path folder;
  bool json = false;
  bool quiet = false;
};

/// What was found out about one data set.
struct Report {
  std::string name;
  fs::path folder;
  FileState state = FileState::Good;  ///< the worst of its files; some missing: damaged
  const CatalogueEntry* entry = nullptr;
  std::vector<FileCheck> files;
  std::int64_t image_count = 0;  ///< of an image folder
  std::vector<std::string> bad_images;
};

std::int64_t count_in_state(const Report& report, FileState state) {
  return std::count_if(report.files.begin(), report.files.end(),
                       [state](const FileCheck& check) { return check.state == state; });
}

FileState worst_state(const Report& report) {
  const std::int64_t missing = count_in_state(report, FileState::Missing);
  if (missing == static_cast<std::int64_t>(report.files.size())) return FileState::Missing;
  if (missing > 0 || count_in_state(report, FileState::Damaged) > 0) return FileState::Damaged;
  return count_in_state(report, FileState::Doubtful) > 0 ? FileState::Doubtful : FileState::Good;
}

Report verify_entry(const CatalogueEntry& entry, const fs::path& folder, ProgressBar& progress) {
  Report report;
  report.name = entry.name;
  report.folder = folder;
  report.entry = &entry;
  report.files =
      verify(entry, folder, [&](const std::string& name, std::uint64_t done, std::uint64_t total) {
        progress.show(part_of(done, total), fmt::format("{}, {}", entry.name, name));
      });
  report.state = worst_state(report);
  return report;
}

/// Opens the folder as training would, then decodes every image.
Report verify_images(const fs::path& folder, ProgressBar& progress) {
  ImageFolderOptions options;
  options.refuse_empty = false;
  const Dataset dataset = open_image_folder(folder, options);
  Report report;
  report.name = ImageFolder;
  report.folder = folder;
  report.image_count = dataset.train.size() + dataset.test.size();
  std::int64_t done_before = 0;
  for (const Split* split : {&dataset.train, &dataset.test}) {
    const std::vector<BadImage> bad =
        find_bad_images(*split->images, available_threads(), [&](std::int64_t done) {
          progress.show(part_of(done_before + done, report.image_count), "decoding images");
        });
    for (const BadImage& image : bad) report.bad_images.push_back(image.reason);
    done_before += split->size();
  }
  std::sort(report.bad_images.begin(), report.bad_images.end());
  if (!report.bad_images.empty()) report.state = FileState::Damaged;
  return report;
}

std::vector<std::string> dataset_names() {
  std::vector<std::string> names;
  for (const DatasetInfo& info : datasets()) names.emplace_back(info.name);
  return names;
}

/// The one data set that was named.
Report verify_named(const VerifyArguments& arguments, ProgressBar& progress) {
  const std::vector<std::string> names = dataset_names();
  if (std::find(names.begin(), names.end(), arguments.name) == names.end()) {
    throw InvalidArgument(fmt::format("data verify: there is no data set \"{}\"{}; there are {}",
                                      arguments.name, did_you_mean(arguments.name, names),
                                      fmt::join(names, ", ")));
  }
  const CatalogueEntry* entry = find_in_catalogue(arguments.name);
  if (entry == nullptr && arguments.name != ImageFolder) {
    throw InvalidArgument(fmt::format(
        "data verify: {} is generated; it has no files to be verified", arguments.name));
  }
  fs::path folder = arguments.folder;
  if (folder.empty() && entry != nullptr) folder = entry->default_folder;
  if (folder.empty()) {
    throw InvalidArgument(fmt::format(
        "data verify: {} has no usual place; give its folder with --data DIR{}", arguments.name,
        entry == nullptr ? "" : fmt::format("; to have it, {}", entry->remedy)));
  }
  return entry == nullptr ? verify_images(folder, progress)
                          : verify_entry(*entry, folder, progress);
}

std::vector<Report> verify_all(const VerifyArguments& arguments) {
  ProgressBar progress(!arguments.quiet);
  if (!arguments.name.empty()) return {verify_named(arguments, progress)};
  std::vector<Report> reports;
  for (const CatalogueEntry& entry : catalogue()) {
    if (entry.default_folder.empty()) continue;
    reports.push_back(verify_entry(entry, entry.default_folder, progress));
  }
  return reports;
}

/// "SHA-256 ..." or "MD5 ..."
std::string describe_checksum(std::string_view sha256, std::string_view md5) {
  return sha256.empty() ? fmt::format("MD5 {}", md5) : fmt::format("SHA-256 {}", sha256);
}

/// How to get what is missing or damaged.
void print_remedy(const Report& report) {
  fmt::print("  to have it: {}\n  official address: {}\n", report.entry->remedy,
             report.entry->address);
  for (const OfficialArchive& archive : report.entry->archives) {
    fmt::print("  archive: {}, {} bytes, {}\n", archive.address, archive.bytes,
               describe_checksum(archive.sha256, archive.md5));
  }
}

void print_report(const Report& report, bool quiet) {
  if (quiet && report.state == FileState::Good) return;
  fmt::print("{} in {}: {}\n", report.name, report.folder.string(), name_of(report.state));
  for (std::size_t i = 0; i < report.files.size(); ++i) {
    const FileCheck& check = report.files[i];
    if (quiet && check.state == FileState::Good) continue;
    fmt::print("  {:<9} {}", name_of(check.state), check.file.name);
    if (check.state == FileState::Missing) {
      const OfficialFile& official = report.entry->files[i];
      fmt::print(", {} bytes, {}", official.bytes,
                 describe_checksum(official.sha256, official.md5));
    } else if (check.state != FileState::Good) {
      fmt::print(": {}", check.finding);
    }
    fmt::print("\n");
  }
  if (report.name == ImageFolder && !quiet) {
    fmt::print("  {} images, {} of them cannot be decoded\n", report.image_count,
               report.bad_images.size());
  }
  for (const std::string& reason : report.bad_images) fmt::print("  damaged   {}\n", reason);
  const bool not_whole = report.state == FileState::Damaged || report.state == FileState::Missing;
  if (not_whole && report.entry != nullptr) print_remedy(report);
}

Json to_json(const OfficialArchive& archive) {
  return {{"address", std::string(archive.address)},
          {"bytes", archive.bytes},
          {"sha256", std::string(archive.sha256)},
          {"md5", std::string(archive.md5)}};
}

Json to_json(const FileCheck& check, const OfficialFile& official) {
  Json json;
  json["name"] = check.file.name;
  json["state"] = name_of(check.state);
  json["bytes"] = check.file.bytes ? Json(*check.file.bytes) : Json(nullptr);
  if (!check.finding.empty()) json["finding"] = check.finding;
  json["official_bytes"] = official.bytes;
  if (!official.sha256.empty()) json["official_sha256"] = official.sha256;
  if (!official.md5.empty()) json["official_md5"] = official.md5;
  return json;
}

Json to_json(const Report& report) {
  Json json;
  json["name"] = report.name;
  json["folder"] = report.folder.string();
  json["state"] = name_of(report.state);
  if (report.entry == nullptr) {
    json["images"] = report.image_count;
    json["bad_images"] = report.bad_images;
    return json;
  }
  json["files"] = Json::array();
  for (std::size_t i = 0; i < report.files.size(); ++i) {
    json["files"].push_back(to_json(report.files[i], report.entry->files[i]));
  }
  json["address"] = report.entry->address;
  json["archives"] = Json::array();
  for (const OfficialArchive& archive : report.entry->archives) {
    json["archives"].push_back(to_json(archive));
  }
  return json;
}

void print_reports(const std::vector<Report>& reports, const VerifyArguments& arguments) {
  if (!arguments.json) {
    for (const Report& report : reports) print_report(report, arguments.quiet);
    return;
  }
  Json json;
  json["datasets"] = Json::array();
  for (const Report& report : reports) json["datasets"].push_back(to_json(report));
  // Names of files may hold bytes that are not UTF-8.
  fmt::print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

/// A data set that nobody asked for may be missing, but not in part.
void refuse_damage(const std::vector<Report>& reports, const VerifyArguments& arguments) {
  for (const Report& report : reports) {
    const bool is_absent = report.state == FileState::Missing && !arguments.name.empty();
    if (report.state != FileState::Damaged && !is_absent) continue;
    if (report.entry == nullptr) {
      throw BadFile(
          fmt::format("data verify: {} of {} images in {} cannot be decoded; replace or "
                      "remove them, or open the folder with --skip-bad",
                      report.bad_images.size(), report.image_count, report.folder.string()));
    }
    throw BadFile(
        fmt::format("data verify: of the {} files of {} in {}, {} are damaged and {} "
                    "missing; {}",
                    report.files.size(), report.name, report.folder.string(),
                    count_in_state(report, FileState::Damaged),
                    count_in_state(report, FileState::Missing), report.entry->remedy));
  }
}

void run_verify(std::span<const std::string> words) {
  VerifyArguments arguments;
  if (!words.empty() && !words.front().starts_with('-')) {
    arguments.name = words.front();
    words = words.subspan(1);
  }
  CommandLine line(
      "data verify", "Holds the files of a data set against the published sizes and checksums.",
      R"(NAME, directly behind verify, is a data set of rcap data list. Without it all that have a usual
place on this machine are verified. The images of image-folder, which have no published checksum,
are decoded once each.
Exit code 2: a file is damaged or missing.

Example: rcap data verify cifar10 --data ~/data)");
  line.group("Data");
  line.path("--data", arguments.folder, "DIR", "where NAME is, if not in its usual place");
  line.group("Output");
  line.flag("--json", arguments.json, "print one JSON object");
  line.flag("--quiet", arguments.quiet, "print only what is not good, and no progress");
  if (!line.parse(words)) return;
  if (arguments.name.empty() && !arguments.folder.empty()) {
    throw InvalidArgument(fmt::format(
        "data verify: --data {} without a NAME; tell which data set it holds: rcap data "
        "verify NAME --data DIR",
        arguments.folder.string()));
  }
  const std::vector<Report> reports = verify_all(arguments);
  print_reports(reports, arguments);
  refuse_damage(reports, arguments);
}

}  // namespace

void run_data(std::span<const std::string> words) {
  const std::string what = words.empty() ? "" : words.front();
  if (what == "list") return run_list(words.subspan(1));
  if (what == "verify") return run_verify(words.subspan(1));
  if (what == "--help" || what == "-h") {
    fmt::print("Usage: {}; see rcap data verify --help\n", Usage);
    return;
  }
  throw InvalidArgument(fmt::format("data \"{}\": there are only: {}", what, Usage));
}

}  // namespace rcap::cli
