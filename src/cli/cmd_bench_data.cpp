#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/version.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/machine.hpp"
#include "cli/median_and_range.hpp"
#include "cli/progress_bar.hpp"
#include "data/batch_reader.hpp"
#include "data/open_dataset.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/training_order.hpp"

namespace rcap::cli {
namespace {

constexpr const char* BenchDataSummary =
    "Times how fast training images get from their files into batches of numbers: one pass to warm "
    "up, then --repeat timed ones.";
constexpr const char* BenchDataFooter =
    R"(Each pass reads all training images once, in a random order, augmented as for training, and does
nothing else with them. --data may name a packed file (rcap data pack).

Photographs to crops of 224 x 224, with one worker thread:
  rcap bench data --dataset image-folder --data photos --resize 256 --crop 224 --flip --workers 1)";

struct BenchDataArguments {
  std::string dataset;
  DatasetOptions data;
  bool fast_decode = false;
  TransformOptions transform;
  BatchReader::Options reader;
  std::int64_t samples = 0;
  std::int64_t repeat = 7;
  std::uint64_t seed = 0;
  bool json = false;
  bool quiet = false;
};

bool parse(std::span<const std::string> words, BenchDataArguments& arguments) {
  CommandLine line("bench data", BenchDataSummary, BenchDataFooter);
  line.group("Data");
  line.text("dataset", arguments.dataset, "NAME", "see rcap data list");
  line.path("data", arguments.data.folder, "DIR", "folder of its files, or a packed file");
  line.on_off("fast_decode", arguments.fast_decode,
              "decode large JPEGs at a fraction of their size, see rcap data pack");
  line.count("samples", arguments.samples, "N", "images per pass; 0: all", Range::at_least(0));
  line.count("seed", arguments.seed, "S", "seed of order and augmentation");
  line.group("Transform");
  line.count("center_crop", arguments.transform.center_crop, "C",
             "first cut out the central C x C square; 0: do not");
  line.count("resize", arguments.transform.resize, "S", "resize the shorter side to S; 0: do not");
  line.count("crop", arguments.transform.crop, "C",
             "crop a random C x C square; 0: the whole image");
  line.count("padding", arguments.transform.padding, "P", "zeros around the image before the crop");
  line.flag("flip", arguments.transform.flip, "mirror each image with probability 1/2");
  line.flag("trivial_augment", arguments.transform.trivial_augment,
            "one random operation on each image (TrivialAugmentWide)");
  line.group("Run");
  line.count("workers", arguments.reader.workers, "N", "threads that prepare images");
  line.count("batch_size", arguments.reader.batch_size, "B", "images per batch");
  line.count("repeat", arguments.repeat, "K", "timed passes", Range::at_least(1));
  line.flag("json", arguments.json, "print one JSON object");
  line.flag("quiet", arguments.quiet, "print no progress");
  line.config();
  if (!line.parse(words)) return false;
  if (arguments.dataset.empty()) {
    throw InvalidArgument("bench data: --dataset is missing; rcap data list shows the names");
  }
  if (arguments.dataset == "table") {
    throw InvalidArgument(
        "bench data: a table holds numbers, not images; its rows are in memory, ready for use");
  }
  return true;
}

/// Images per second, one number per pass, and a sum that keeps the work from being optimised away.
struct Result {
  std::vector<double> rates;
  std::int64_t samples = 0;
  ImageShape shape;
  double sum = 0;
};

Result run_passes(const BenchDataArguments& arguments, const Split& split,
                  const Transform& transform) {
  Result result;
  BatchReader reader(split, transform, arguments.reader);
  result.shape = reader.shape();
  result.samples =
      arguments.samples == 0 ? split.size() : std::min(arguments.samples, split.size());
  ProgressBar progress(!arguments.quiet);
  std::vector<SampleId> all(static_cast<std::size_t>(split.size()));
  std::iota(all.begin(), all.end(), SampleId{0});
  for (std::int64_t pass = 0; pass <= arguments.repeat; ++pass) {
    const std::vector<SampleId> order = training_order(all, arguments.seed, pass);
    const auto ids = std::span(order).first(static_cast<std::size_t>(result.samples));
    const auto start = std::chrono::steady_clock::now();
    reader.start(ids, 0, RandomStream(arguments.seed, Purpose::Augmentation, pass));
    while (const Batch* batch = reader.next()) {
      result.sum += static_cast<double>(batch->images.front());
      progress.show(
          part_of(pass, arguments.repeat + 1),
          pass == 0 ? "warming up" : fmt::format("pass {} of {}", pass, arguments.repeat));
    }
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    // The first pass warmed up.
    if (pass > 0) result.rates.push_back(static_cast<double>(result.samples) / seconds);
  }
  return result;
}

void print_json(const BenchDataArguments& arguments, const Result& result) {
  nlohmann::ordered_json json;
  put_median_and_range(json, "samples_per_second", result.rates);
  json["dataset"] = arguments.dataset;
  json["data"] = arguments.data.folder.string();
  json["samples"] = result.samples;
  json["shape"] = {result.shape.height, result.shape.width, result.shape.channels};
  json["fast_decode"] = arguments.fast_decode;
  json["workers"] = arguments.reader.workers;
  json["batch_size"] = arguments.reader.batch_size;
  json["repeat"] = arguments.repeat;
  json["first_numbers"] = result.sum;
  json["cpu"] = cpu_model();
  json["compiler"] = compiler_version();
  json["version"] = version();
  json["revision"] = revision();
  fmt::print("{}\n", json.dump());
}

void print_text(const BenchDataArguments& arguments, const Result& result) {
  const MedianAndRange found = median_and_range_of(result.rates);
  fmt::print("{} images per pass to {} x {} x {}, {} worker(s), batches of {}\n", result.samples,
             result.shape.height, result.shape.width, result.shape.channels,
             arguments.reader.workers, arguments.reader.batch_size);
  fmt::print("{}, {}, rcap {}\n\n", cpu_model(), compiler_version(), version_and_revision());
  fmt::print("images per second: {:.0f} (lowest {:.0f}, highest {:.0f}, {} passes)\n", found.median,
             found.lowest, found.highest, arguments.repeat);
}

}  // namespace

void run_bench_data(std::span<const std::string> words) {
  BenchDataArguments arguments;
  if (!parse(words, arguments)) return;
  arguments.data.seed = arguments.seed;
  if (arguments.fast_decode) arguments.data.least_side = arguments.transform.resize;
  const Dataset dataset = open_dataset(arguments.dataset, arguments.data);
  arguments.transform.normalization = dataset.normalization;
  const Result result = run_passes(arguments, dataset.train, Transform(arguments.transform));
  if (arguments.json) {
    print_json(arguments, result);
  } else {
    print_text(arguments, result);
  }
}

}  // namespace rcap::cli
