#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/nearest_name.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/data_report.hpp"
#include "cli/machine.hpp"
#include "cli/progress_bar.hpp"
#include "data/images/bad_images.hpp"
#include "data/open_dataset.hpp"
#include "data/packs/packed_images.hpp"
#include "data/sets/catalogue.hpp"
#include "data/sets/image_folder.hpp"
#include "rcap/core/error.hpp"

namespace rcap::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view ImageFolder = "image-folder";

struct VerifyArguments {
  std::string name;  ///< empty: all that have a usual place
  fs::path folder;
  bool decode = false;
  bool json = false;
  bool quiet = false;
};

FileState worst_state(const DataReport& report) {
  const std::int64_t missing = count_in_state(report, FileState::Missing);
  if (missing > 0 && missing == static_cast<std::int64_t>(report.files.size())) {
    return FileState::Missing;
  }
  if (missing > 0 || count_in_state(report, FileState::Damaged) > 0) return FileState::Damaged;
  return count_in_state(report, FileState::Doubtful) > 0 ? FileState::Doubtful : FileState::Good;
}

/// Decodes every image of an opened data set.
void decode_images(const Dataset& dataset, ProgressBar& progress, DataReport& report) {
  report.decoded = true;
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
}

void take_images(Dataset&& dataset, bool decode, ProgressBar& progress, DataReport& report) {
  report.has_images = true;
  report.image_count = dataset.train.size() + dataset.test.size();
  if (decode) decode_images(dataset, progress, report);
  report.remarks = std::move(dataset.remarks);
}

/// Opens a data set as training would: lists, counts, whether the images are there.
void verify_images(bool decode, ProgressBar& progress, DataReport& report) {
  report.has_images = true;
  std::error_code ignored;
  if (!fs::is_directory(report.folder, ignored)) {
    report.state = FileState::Missing;
    report.problem = "there is no such folder";
    return;
  }
  DatasetOptions options;
  options.folder = report.folder;
  options.threads = available_threads();
  try {
    take_images(open_dataset(report.name, options), decode, progress, report);
  } catch (const BadFile& error) {
    report.problem = error.what();
    if (report.state != FileState::Missing) report.state = FileState::Damaged;
  }
}

DataReport verify_entry(const CatalogueEntry& entry, const fs::path& folder, bool decode,
                        ProgressBar& progress) {
  DataReport report;
  report.name = entry.name;
  report.folder = folder;
  report.entry = &entry;
  report.files =
      verify(entry, folder, [&](const std::string& name, std::uint64_t done, std::uint64_t total) {
        progress.show(part_of(done, total), fmt::format("{}, {}", entry.name, name));
      });
  report.state = worst_state(report);
  if (entry.images_in_files) verify_images(decode, progress, report);
  return report;
}

DataReport verify_image_folder(const fs::path& folder, ProgressBar& progress) {
  ImageFileOptions options;
  options.refuse_empty = false;
  options.threads = available_threads();
  DataReport report;
  report.name = ImageFolder;
  report.folder = folder;
  take_images(open_image_folder(folder, options), true, progress, report);
  return report;
}

/// Compares every image with its checksum in the file.
DataReport verify_packed(const fs::path& file, ProgressBar& progress) {
  DataReport report;
  PackedDataset packed = open_packed(file);
  report.name = packed.dataset.name;
  report.folder = file;
  take_images(std::move(packed.dataset), true, progress, report);
  return report;
}

std::vector<std::string> dataset_names() {
  std::vector<std::string> names;
  for (const DatasetInfo& info : datasets()) names.emplace_back(info.name);
  return names;
}

/// The one data set that was named.
DataReport verify_named(const VerifyArguments& arguments, ProgressBar& progress) {
  if (std::error_code ignored; fs::is_regular_file(arguments.name, ignored)) {
    return verify_packed(arguments.name, progress);
  }
  const std::vector<std::string> names = dataset_names();
  if (std::find(names.begin(), names.end(), arguments.name) == names.end()) {
    throw InvalidArgument(fmt::format("data verify: there is no data set \"{}\"{}; there are {}",
                                      arguments.name, did_you_mean(arguments.name, names),
                                      fmt::join(names, ", ")));
  }
  if (arguments.name == "table") {
    throw InvalidArgument(
        "data verify: your own table has no published checksum; rcap train checks all of it when "
        "it opens it");
  }
  const CatalogueEntry* entry = find_in_catalogue(arguments.name);
  if (entry == nullptr && arguments.name != ImageFolder) {
    throw InvalidArgument(
        fmt::format("data verify: {} is generated; it has no files to verify", arguments.name));
  }
  fs::path folder = arguments.folder;
  if (folder.empty() && entry != nullptr) folder = entry->default_folder;
  if (folder.empty()) {
    throw InvalidArgument(fmt::format(
        "data verify: {} has no usual place; give its folder with --data DIR{}", arguments.name,
        entry == nullptr ? "" : fmt::format("; to get it, {}", entry->remedy)));
  }
  return entry == nullptr ? verify_image_folder(folder, progress)
                          : verify_entry(*entry, folder, arguments.decode, progress);
}

std::vector<DataReport> verify_all(const VerifyArguments& arguments) {
  ProgressBar progress(!arguments.quiet);
  if (!arguments.name.empty()) return {verify_named(arguments, progress)};
  std::vector<DataReport> reports;
  for (const CatalogueEntry& entry : catalogue()) {
    if (entry.default_folder.empty()) continue;
    reports.push_back(verify_entry(entry, entry.default_folder, arguments.decode, progress));
  }
  return reports;
}

void print_reports(const std::vector<DataReport>& reports, const VerifyArguments& arguments) {
  if (!arguments.json) {
    for (const DataReport& report : reports) print_report(report, arguments.quiet);
    return;
  }
  nlohmann::ordered_json json;
  json["datasets"] = nlohmann::ordered_json::array();
  for (const DataReport& report : reports) json["datasets"].push_back(to_json(report));
  // Names of files may not be valid UTF-8.
  fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

/// What makes the command fail, in one line.
std::string describe_damage(const DataReport& report) {
  const std::int64_t damaged = count_in_state(report, FileState::Damaged);
  const std::int64_t missing = count_in_state(report, FileState::Missing);
  if (damaged + missing > 0) {
    return fmt::format("of the {} files of {} in {}, {} are damaged and {} missing; {}",
                       report.files.size(), report.name, report.folder.string(), damaged, missing,
                       report.entry->remedy);
  }
  if (!report.problem.empty()) {
    return fmt::format("{} in {}: {}", report.name, report.folder.string(), report.problem);
  }
  return fmt::format("{} of {} images in {} cannot be decoded; {}", report.bad_images.size(),
                     report.image_count, report.folder.string(),
                     is_packed(report.folder)
                         ? "pack the file again"
                         : "replace or remove them, or open the folder with --skip-bad on");
}

/// A data set that was not named may be missing, but not partly.
void refuse_damage(const std::vector<DataReport>& reports, const VerifyArguments& arguments) {
  for (const DataReport& report : reports) {
    const bool is_absent = report.state == FileState::Missing && !arguments.name.empty();
    if (report.state != FileState::Damaged && !is_absent) continue;
    throw BadFile(fmt::format("data verify: {}", describe_damage(report)));
  }
}

}  // namespace

void run_data_verify(std::span<const std::string> words) {
  VerifyArguments arguments;
  CommandLine line("data verify",
                   "Compares the files of a data set with the published sizes and checksums.",
                   R"(NAME is a data set of rcap data list. Without it, all that have a usual
place on this machine are verified. For imagenet, waterbirds, celeba and inaturalist, the lists,
the counts and the presence of every image are checked too. The images of image-folder, which have
no published checksum, are decoded once each. A packed file (rcap data pack) in place of NAME is
checked against its own checksums, image by image.
Exit code 2: a file is damaged or missing.

Example: rcap data verify cifar10 --data ~/data)");
  line.argument("[NAME]", arguments.name);
  line.group("Data");
  line.path("data", arguments.folder, "DIR", "folder of NAME [its usual place]");
  line.flag("decode", arguments.decode, "decode every image once, if images are separate files");
  line.group("Output");
  line.flag("json", arguments.json, "print one JSON object");
  line.flag("quiet", arguments.quiet, "print only problems, and no progress");
  if (!line.parse(words)) return;
  if (arguments.name.empty() && !arguments.folder.empty()) {
    throw InvalidArgument(
        fmt::format("data verify: --data {} without a NAME; say which data set it holds: rcap data "
                    "verify NAME --data DIR",
                    arguments.folder.string()));
  }
  const std::vector<DataReport> reports = verify_all(arguments);
  print_reports(reports, arguments);
  refuse_damage(reports, arguments);
}

}  // namespace rcap::cli
