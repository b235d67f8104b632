#include "rcap/data/open_dataset.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rcap/core/error.hpp"
#include "rcap/data/catalogue.hpp"
#include "rcap/data/cifar_reader.hpp"
#include "rcap/data/idx_reader.hpp"
#include "rcap/data/image_folder.hpp"
#include "rcap/data/imbalance.hpp"
#include "rcap/data/synthetic_images.hpp"

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

Dataset open_folder(const DatasetOptions& options) {
  Dataset dataset =
      open_image_folder(options.folder, {options.seed, options.skip_bad, options.threads});
  dataset.normalization = {{0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}};
  return dataset;
}

Dataset open_synthetic(const DatasetOptions& options) {
  if (!options.folder.empty()) {
    throw InvalidArgument(fmt::format(
        "synthetic: a folder is given, {}; this data set is generated, leave --data out",
        options.folder.string()));
  }
  return make_synthetic_images(options.seed);
}

using Open = Dataset (*)(const DatasetOptions&);

constexpr std::array Infos{
    DatasetInfo{"fashion-mnist", "60,000 + 10,000 grey images of clothes, 28 x 28, 10 classes"},
    DatasetInfo{"mnist", "60,000 + 10,000 grey images of handwritten digits, 28 x 28, 10 classes"},
    DatasetInfo{"cifar10", "50,000 + 10,000 colour images, 32 x 32, 10 classes"},
    DatasetInfo{"cifar100", "50,000 + 10,000 colour images, 32 x 32, 100 classes"},
    DatasetInfo{"image-folder", "JPEG and PNG files of your own, a folder a class"},
    DatasetInfo{"synthetic", "6,000 + 1,000 generated grey images, 28 x 28, 10 classes"},
};
/// In the order of `Infos`.
constexpr std::array<Open, Infos.size()> Openers{open_fashion_mnist, open_mnist,  open_cifar10,
                                                 open_cifar100,      open_folder, open_synthetic};

std::size_t find_dataset(std::string_view name) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < Infos.size(); ++i) {
    if (Infos[i].name == name) return i;
    names.push_back(Infos[i].name);
  }
  throw InvalidArgument(fmt::format("open_dataset: there is no data set \"{}\"; there are {}", name,
                                    fmt::join(names, ", ")));
}

/// The folder to read: the one given, else the one where the data set usually is.
fs::path choose_folder(std::string_view name, const fs::path& given) {
  if (name == "synthetic") return given;
  const CatalogueEntry* entry = find_in_catalogue(name);
  fs::path folder = given;
  if (folder.empty() && entry != nullptr) folder = entry->default_folder;
  if (folder.empty()) {
    throw InvalidArgument(fmt::format(
        "{}: its folder is not known; give it with --data DIR{}", name,
        entry == nullptr
            ? ", a folder with train and val in it, or with one folder a class"
            : fmt::format(", where {} from {} is unpacked", entry->unpacked_as, entry->address)));
  }
  std::error_code ignored;
  if (fs::is_directory(folder, ignored)) return folder;
  throw BadFile(fmt::format("{}: there is no folder {}{}", name, folder.string(),
                            entry == nullptr ? "" : fmt::format("; {}", entry->remedy)));
}

void make_long_tailed(Dataset& dataset, const DatasetOptions& options) {
  const std::vector<SampleId> kept =
      long_tailed(dataset.train.labels, dataset.class_count(), options.imbalance, options.seed);
  dataset.remarks.push_back(fmt::format(
      "long-tailed by factor {}: {} of {} training images are kept; the test images are untouched",
      options.imbalance, kept.size(), dataset.train.size()));
  dataset.train = subset(dataset.train, kept);
}

}  // namespace

std::span<const DatasetInfo> datasets() noexcept { return Infos; }

Dataset open_dataset(std::string_view name, const DatasetOptions& options) {
  const std::size_t which = find_dataset(name);
  if (options.threads < 1 || options.threads > MostThreads) {
    throw InvalidArgument(fmt::format("open_dataset: threads is {}; it lies in 1 .. {}",
                                      options.threads, MostThreads));
  }
  // Refuses a bad factor before files are read.
  (void)long_tailed_sizes({}, options.imbalance);
  DatasetOptions opened = options;
  opened.folder = choose_folder(name, options.folder);
  Dataset dataset = Openers[which](opened);
  dataset.name = name;
  // 1 leaves the data as they are; `long_tailed` would make all classes equal.
  if (options.imbalance != 1.0) make_long_tailed(dataset, options);
  return dataset;
}

}  // namespace rcap
