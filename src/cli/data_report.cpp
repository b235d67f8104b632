#include "cli/data_report.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace rcap::cli {
namespace {

using Json = nlohmann::ordered_json;

/// "17 bytes, SHA-256 ..."; says so if one of them is not published.
std::string describe(std::uint64_t bytes, std::string_view sha256, std::string_view md5) {
  const std::string size = bytes == 0 ? "size not published" : fmt::format("{} bytes", bytes);
  if (!sha256.empty()) return fmt::format("{}, SHA-256 {}", size, sha256);
  if (!md5.empty()) return fmt::format("{}, MD5 {}", size, md5);
  return fmt::format("{}, no checksum published", size);
}

/// How to get what is missing or damaged.
void print_remedy(const CatalogueEntry& entry) {
  fmt::print("  to get it: {}\n  official address: {}\n", entry.remedy, entry.address);
  for (const OfficialArchive& archive : entry.archives) {
    fmt::print("  archive: {}, {}\n", archive.address,
               describe(archive.bytes, archive.sha256, archive.md5));
  }
}

void print_files(const DataReport& report, bool quiet) {
  for (std::size_t i = 0; i < report.files.size(); ++i) {
    const FileCheck& check = report.files[i];
    if (quiet && check.state == FileState::Good) continue;
    fmt::print("  {:<9} {}", name_of(check.state), check.file.name);
    if (check.state == FileState::Missing) {
      const OfficialFile& official = report.entry->files[i];
      fmt::print(", {}", describe(official.bytes, official.sha256, official.md5));
    } else if (check.state != FileState::Good) {
      fmt::print(": {}", check.finding);
    }
    fmt::print("\n");
  }
}

void print_images(const DataReport& report, bool quiet) {
  if (!report.problem.empty()) {
    fmt::print("  {:<9} {}\n", name_of(report.state), report.problem);
  } else if (!quiet) {
    for (const std::string& remark : report.remarks) fmt::print("  {}\n", remark);
    const std::string outcome =
        report.decoded ? fmt::format("{} of them cannot be decoded", report.bad_images.size())
                       : "not decoded; --decode reads each of them";
    fmt::print("  {} images, {}\n", report.image_count, outcome);
  }
  for (const std::string& reason : report.bad_images) fmt::print("  damaged   {}\n", reason);
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

void add_images(const DataReport& report, Json& json) {
  if (!report.problem.empty()) {
    json["problem"] = report.problem;
    return;
  }
  json["images"] = report.image_count;
  json["decoded"] = report.decoded;
  json["bad_images"] = report.bad_images;
  json["remarks"] = report.remarks;
}

}  // namespace

std::int64_t count_in_state(const DataReport& report, FileState state) {
  return std::count_if(report.files.begin(), report.files.end(),
                       [state](const FileCheck& check) { return check.state == state; });
}

void print_report(const DataReport& report, bool quiet) {
  if (quiet && report.state == FileState::Good) return;
  fmt::print("{} in {}: {}\n", report.name, report.folder.string(), name_of(report.state));
  print_files(report, quiet);
  if (report.has_images) print_images(report, quiet);
  const bool not_whole = report.state == FileState::Damaged || report.state == FileState::Missing;
  if (not_whole && report.entry != nullptr) print_remedy(*report.entry);
}

Json to_json(const OfficialArchive& archive) {
  return {{"address", std::string(archive.address)},
          {"bytes", archive.bytes == 0 ? Json(nullptr) : Json(archive.bytes)},
          {"sha256", std::string(archive.sha256)},
          {"md5", std::string(archive.md5)}};
}

Json to_json(const DataReport& report) {
  Json json;
  json["name"] = report.name;
  json["folder"] = report.folder.string();
  json["state"] = name_of(report.state);
  if (report.has_images) add_images(report, json);
  if (report.entry == nullptr) return json;
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

}  // namespace rcap::cli
