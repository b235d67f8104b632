#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/machine.hpp"
#include "cli/progress_bar.hpp"
#include "cli/run_main.hpp"
#include "cli/tell.hpp"
#include "data/open_dataset.hpp"
#include "data/packs/pack_images.hpp"
#include "rcap/core/error.hpp"

namespace rcap::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* DataPackSummary =
    "Decodes and resizes the images of a data set into one file, which is then read many times "
    "faster.";
constexpr const char* DataPackFooter =
    R"(Give the file in place of the folder: rcap train --dataset NAME --data FILE. Any image in it can
be read directly, so a new selection every epoch costs nothing. Every image has a checksum, which
is compared with its pixels when it is first read; rcap data verify FILE does so for all images.

The file is written as FILE.partial, and renamed when it is complete. After Ctrl-C, a kill or a
full disk, the same command continues where it was, and the file ends up the same, byte for byte.

Shorter sides of 256, for crops of 224:
  rcap data pack --dataset imagenet --data ~/imagenet --resize 256 --out imagenet-256.pack
CelebA's central square, which training must not cut out again (--center-crop 0):
  rcap data pack --dataset celeba --data ~/celeba --center-crop 178 --resize 224 --out celeba.pack)";

struct PackArguments {
  std::string dataset;
  fs::path data, out;
  PackOptions options;
  std::uint64_t seed = 0;
  bool json = false;
  bool quiet = false;
};

bool parse(std::span<const std::string> words, PackArguments& arguments) {
  PackOptions& options = arguments.options;
  options.threads = available_threads();
  CommandLine line("data pack", DataPackSummary, DataPackFooter);
  line.group("Data");
  line.text("dataset", arguments.dataset, "NAME", "see rcap data list");
  line.path("data", arguments.data, "DIR", "folder of its files [the usual place]");
  line.on_off("skip_bad", options.skip_bad, "leave out images that cannot be decoded");
  line.count("seed", arguments.seed, "S", "seed of the held-out part, if the data set has one");
  line.group("Images");
  line.count("center_crop", options.recipe.center_crop, "C",
             "first cut out the central C x C square; 0: do not");
  line.count("resize", options.recipe.resize, "S", "resize the shorter side to S; 0: do not");
  line.choice("interpolation", options.recipe.interpolation, {"bilinear", "bicubic"},
              "interpolation of the resize, antialiased, as in Pillow");
  line.on_off("fast_decode", options.recipe.fast_decode,
              "decode large JPEGs at a fraction of their size: faster, but pixels differ slightly");
  line.group("Output");
  line.path("out", arguments.out, "FILE", "the packed file; required");
  line.flag("restart", options.restart, "start over, and replace FILE if it exists");
  line.threads(options.threads);
  line.flag("json", arguments.json, "print one JSON object");
  line.flag("quiet", arguments.quiet, "print no progress and no estimate");
  line.config();
  if (!line.parse(words)) return false;
  line.require("out", arguments.out);
  if (arguments.dataset.empty()) {
    throw InvalidArgument("data pack: --dataset is missing; rcap data list shows the names");
  }
  if (arguments.dataset == "table") {
    throw InvalidArgument(
        "data pack: a table holds numbers, not images; it is read into memory as it is");
  }
  return true;
}

std::string as_bytes(std::uint64_t bytes) {
  constexpr double Giga = 1e9, Mega = 1e6;
  const auto number = static_cast<double>(bytes);
  return number >= Giga ? fmt::format("{:.1f} GB", number / Giga)
                        : fmt::format("{:.1f} MB", number / Mega);
}

/// Bad images are left out while packing: looking for them first would decode all images twice. It
/// is only done if files are refused before they are decoded.
Dataset open_source(const PackArguments& arguments) {
  const PackOptions& pack = arguments.options;
  DatasetOptions options;
  options.folder = arguments.data;
  options.seed = arguments.seed;
  options.threads = pack.threads;
  if (pack.recipe.fast_decode) options.least_side = pack.recipe.resize;
  try {
    return open_dataset(arguments.dataset, options);
  } catch (const BadFile&) {
    if (!pack.skip_bad) throw;
  }
  options.skip_bad = true;
  return open_dataset(arguments.dataset, options);
}

void print_estimate(const Dataset& dataset, const PackArguments& arguments) {
  const std::uint64_t needed = estimate_packed_bytes(dataset, arguments.options.recipe);
  fs::path folder = arguments.out.parent_path();
  if (folder.empty()) folder = ".";
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  tell("{} images will take about {}{}\n", dataset.train.size() + dataset.test.size(),
       as_bytes(needed), error ? "" : fmt::format(", {} are free", as_bytes(space.available)));
}

/// Shows a bar with the time left, and stops when the user wants to.
class PackReporter {
 public:
  explicit PackReporter(bool shown) : bar_(shown) {}

  bool operator()(const PackProgress& progress) {
    if (!first_) first_ = progress.done;
    if (bar_.is_due()) show(progress);
    return !stop_was_asked();
  }

  void clear() { bar_.clear(); }

 private:
  void show(const PackProgress& progress) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    const auto made = static_cast<double>(progress.done - *first_);
    const auto left = static_cast<double>(progress.total - progress.done);
    const double rate = made / seconds;
    bar_.show(part_of(progress.done, progress.total),
              fmt::format("{} of {} images, {:.0f} per second, {}{}", progress.done, progress.total,
                          rate, as_bytes(progress.bytes),
                          rate > 0 ? fmt::format(", {} left", as_time(left / rate)) : ""));
  }

  ProgressBar bar_;
  Clock::time_point start_ = Clock::now();
  std::optional<std::int64_t> first_;  ///< images that were there at the start
};

void print_result(const PackSummary& summary, const PackArguments& arguments, double seconds) {
  if (arguments.json) {
    nlohmann::ordered_json json;
    json["out"] = arguments.out.string();
    json["bytes"] = summary.file_bytes;
    json["train_images"] = summary.train_count;
    json["test_images"] = summary.test_count;
    json["done_before"] = summary.done_before;
    json["left_out"] = summary.left_out;
    json["seconds"] = seconds;
    // Names of files may not be valid UTF-8.
    fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return;
  }
  for (const std::string& reason : summary.left_out) fmt::print("left out: {}\n", reason);
  if (summary.done_before > 0) {
    fmt::print("{} images had been packed before\n", summary.done_before);
  }
  fmt::print("{}: {} training and {} test images, {}, in {}\n", arguments.out.string(),
             summary.train_count, summary.test_count, as_bytes(summary.file_bytes),
             as_time(seconds));
}

}  // namespace

void run_data_pack(std::span<const std::string> words) {
  PackArguments arguments;
  if (!parse(words, arguments)) return;
  const auto start = Clock::now();
  watch_for_stop();
  const Dataset dataset = open_source(arguments);
  if (!arguments.quiet) {
    for (const std::string& remark : dataset.remarks) tell("{}\n", remark);
    print_estimate(dataset, arguments);
  }
  PackReporter reporter(!arguments.quiet);
  const auto summary =
      pack_images(dataset, arguments.data, arguments.out, arguments.options, std::ref(reporter));
  reporter.clear();
  if (!summary) {
    throw Stopped(fmt::format("stopped, nothing is lost; the same command continues {}.partial",
                              arguments.out.string()));
  }
  print_result(*summary, arguments, std::chrono::duration<double>(Clock::now() - start).count());
}

}  // namespace rcap::cli
