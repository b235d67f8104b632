#include "data/open_dataset.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/quoting.hpp"
#include "base/utf8.hpp"
#include "data/packs/packed_images.hpp"
#include "data/sets/catalogue.hpp"
#include "data/sets/celeba.hpp"
#include "data/sets/cifar_reader.hpp"
#include "data/sets/idx_reader.hpp"
#include "data/sets/image_folder.hpp"
#include "data/sets/imagenet.hpp"
#include "data/sets/inaturalist.hpp"
#include "data/sets/synthetic_images.hpp"
#include "data/sets/waterbirds.hpp"
#include "data/subsample.hpp"
#include "data/tables/table.hpp"
#include "io/payload_reader.hpp"
#include "io/refuse_file.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

constexpr int MostThreads = 4096;

constexpr std::array FashionNames{"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
                                  "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
constexpr std::array DigitNames{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};

/// Four IDX files with the names that MNIST and its relatives share.
Dataset read_mnist_like(const fs::path& folder, std::span<const char* const> class_names) {
  Dataset dataset;
  dataset.class_names.assign(class_names.begin(), class_names.end());
  dataset.channels = 1;
  const auto read = [&](const std::string& part) {
    return read_idx_split(find_idx_file(folder, part + "-images-idx3-ubyte"),
                          find_idx_file(folder, part + "-labels-idx1-ubyte"),
                          dataset.class_count());
  };
  dataset.train = read("train");
  dataset.test = read("t10k");
  return dataset;
}

Dataset open_fashion_mnist(const DatasetOptions& options) {
  Dataset dataset = read_mnist_like(options.folder, FashionNames);
  dataset.normalization = {{0.2860F}, {0.3530F}};
  return dataset;
}

Dataset open_mnist(const DatasetOptions& options) {
  Dataset dataset = read_mnist_like(options.folder, DigitNames);
  dataset.normalization = {{0.1307F}, {0.3081F}};
  return dataset;
}

Dataset open_cifar10(const DatasetOptions& options) {
  Dataset dataset = read_cifar(options.folder, CifarKind::Cifar10);
  dataset.normalization = {{0.4914F, 0.4822F, 0.4465F}, {0.2470F, 0.2435F, 0.2616F}};
  return dataset;
}

Dataset open_cifar100(const DatasetOptions& options) {
  Dataset dataset = read_cifar(options.folder, CifarKind::Cifar100);
  dataset.normalization = {{0.5071F, 0.4865F, 0.4409F}, {0.2673F, 0.2564F, 0.2762F}};
  return dataset;
}

Dataset open_files(Dataset (*open)(const fs::path&, const ImageFileOptions&),
                   const DatasetOptions& options) {
  Dataset dataset =
      open(options.folder, {options.skip_bad, options.threads, options.least_side, options.seed});
  // Those of networks trained on ImageNet, and so of all that start from their weights.
  dataset.normalization = {{0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}};
  return dataset;
}

Dataset open_rows(const DatasetOptions& options) {
  return open_table(options.folder, {.label_column = options.label_column, .seed = options.seed});
}

Dataset open_synthetic(const DatasetOptions& options) {
  if (!options.folder.empty()) {
    throw InvalidArgument(
        fmt::format("synthetic: a folder was given, {}; this data set is generated, so give none",
                    options.folder.string()));
  }
  return make_synthetic_images(options.seed);
}

struct Row {
  DatasetInfo info;
  Dataset (*open)(const DatasetOptions&);
};

constexpr std::array Rows{
    Row{{"fashion-mnist", "60,000 + 10,000 grey images of clothes, 28 x 28, 10 classes"},
        open_fashion_mnist},
    Row{{"mnist", "60,000 + 10,000 grey images of handwritten digits, 28 x 28, 10 classes"},
        open_mnist},
    Row{{"cifar10", "50,000 + 10,000 colour images, 32 x 32, 10 classes"}, open_cifar10},
    Row{{"cifar100", "50,000 + 10,000 colour images, 32 x 32, 100 classes"}, open_cifar100},
    Row{{"imagenet", "1,281,167 + 50,000 photographs, 1,000 classes"},
        [](const DatasetOptions& options) { return open_files(open_imagenet, options); }},
    Row{{"waterbirds", "4,795 + 5,794 birds on land and water, 2 classes, 4 groups"},
        [](const DatasetOptions& options) { return open_files(open_waterbirds, options); }},
    Row{{"celeba", "162,770 + 19,962 faces, blond or not, 2 classes, 4 groups"},
        [](const DatasetOptions& options) { return open_files(open_celeba, options); }},
    Row{{"inaturalist", "579,184 + 95,986 animals and plants (2017), 13 classes"},
        [](const DatasetOptions& options) { return open_files(open_inaturalist, options); }},
    Row{{"image-folder", "JPEG and PNG files of your own, a folder for each class"},
        [](const DatasetOptions& options) { return open_files(open_image_folder, options); }},
    Row{{"table", "numbers and categories of your own, in CSV or .npy files"}, open_rows},
    Row{{"synthetic", "6,000 + 1,000 generated grey images, 28 x 28, 10 classes"}, open_synthetic},
};

const Row& find_dataset(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Row& row : Rows) {
    if (row.info.name == name) return row;
    names.push_back(row.info.name);
  }
  throw InvalidArgument(
      fmt::format("open_dataset: there is no data set \"{}\"; the data sets are {}", name,
                  fmt::join(names, ", ")));
}

/// The folder to read: the given one, or else the usual one of the data set.
fs::path choose_folder(std::string_view name, const fs::path& given) {
  if (name == "synthetic") return given;
  if (name == "table") {
    if (!given.empty()) return given;
    throw InvalidArgument(
        "table: its path is unknown; give it with the option data: a CSV or .npy file, or a folder "
        "with train.csv and test.csv");
  }
  const CatalogueEntry* entry = find_in_catalogue(name);
  fs::path folder = given;
  if (folder.empty() && entry != nullptr) folder = entry->default_folder;
  if (folder.empty()) {
    throw InvalidArgument(fmt::format(
        "{}: its folder is unknown; give it with the option data{}", name,
        entry == nullptr
            ? ", a folder with train and val in it, or with a folder for each class"
            : fmt::format(", where {} from {} is unpacked", entry->unpacked_as, entry->address)));
  }
  if (is_folder(folder)) return folder;
  refuse_file(name, "there is no folder {}{}", folder.string(),
              entry == nullptr ? "" : fmt::format("; {}", entry->remedy));
}

void keep_part(Dataset& dataset, const DatasetOptions& options) {
  const std::vector<SampleId> kept = proportional_part(dataset.train.labels, dataset.class_count(),
                                                       *options.train_samples, options.seed);
  dataset.remarks.push_back(
      fmt::format("{} of {} training samples are kept, classes in proportion (seed {})",
                  kept.size(), dataset.train.size(), options.seed));
  dataset.train = subset(dataset.train, kept);
}

void make_long_tailed(Dataset& dataset, const DatasetOptions& options) {
  const std::vector<SampleId> kept =
      long_tailed(dataset.train.labels, dataset.class_count(), options.imbalance, options.seed);
  dataset.remarks.push_back(fmt::format(
      "long-tailed by factor {}: {} of {} training samples are kept; the test split is untouched",
      options.imbalance, kept.size(), dataset.train.size()));
  dataset.train = subset(dataset.train, kept);
}

/// Others read results and packs as JSON, which allows only UTF-8.
void require_utf8(std::string_view dataset, std::string_view what,
                  std::span<const std::string> names) {
  const auto odd = std::ranges::find_if_not(names, [](const auto& name) { return is_utf8(name); });
  if (odd == names.end()) return;
  throw BadFile(fmt::format("{}: the name of the {} {} is not UTF-8; rename it", dataset, what,
                            in_quotes(*odd)));
}

}  // namespace

std::span<const DatasetInfo> datasets() noexcept {
  static const auto infos = [] {
    std::array<DatasetInfo, Rows.size()> all;
    std::transform(Rows.begin(), Rows.end(), all.begin(), [](const Row& row) { return row.info; });
    return all;
  }();
  return infos;
}

Dataset open_dataset(std::string_view name, const DatasetOptions& options) {
  const Row& row = find_dataset(name);
  if (options.threads < 1 || options.threads > MostThreads) {
    throw InvalidArgument(fmt::format("open_dataset: threads is {}; it must lie between 1 and {}",
                                      options.threads, MostThreads));
  }
  // Refuses a bad factor before any file is read.
  (void)long_tailed_sizes({}, options.imbalance);
  DatasetOptions opened = options;
  auto packed = open_if_packed(options.folder, name);
  if (!packed) opened.folder = choose_folder(name, options.folder);
  Dataset dataset = packed ? std::move(*packed) : row.open(opened);
  dataset.name = name;
  require_utf8(name, "class", dataset.class_names);
  require_utf8(name, "group", dataset.group_names);
  thin_out(dataset, options);
  return dataset;
}

void thin_out(Dataset& dataset, const DatasetOptions& options) {
  if (options.train_samples) keep_part(dataset, options);
  // 1 leaves the data as they are; `long_tailed` would make all classes the same size.
  if (options.imbalance != 1.0) make_long_tailed(dataset, options);
}

}  // namespace rcap
