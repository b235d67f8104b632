#include "data/sets/catalogue.hpp"

#include <algorithm>
#include <array>
#include <system_error>

#include <fmt/format.h>

#include "data/sets/digest.hpp"
#include "io/payload_reader.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t PieceBytes = 1 << 18;

constexpr OfficialFile FashionMnistFiles[] = {
    {"train-images-idx3-ubyte", 47040016,
     "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888", ""},
    {"train-labels-idx1-ubyte", 60008,
     "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9", ""},
    {"t10k-images-idx3-ubyte", 7840016,
     "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b", ""},
    {"t10k-labels-idx1-ubyte", 10008,
     "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34", ""},
};

constexpr OfficialFile MnistFiles[] = {
    {"train-images-idx3-ubyte", 47040016,
     "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db", ""},
    {"train-labels-idx1-ubyte", 60008,
     "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5", ""},
    {"t10k-images-idx3-ubyte", 7840016,
     "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7", ""},
    {"t10k-labels-idx1-ubyte", 10008,
     "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2", ""},
};

constexpr OfficialFile Cifar10Files[] = {
    {"data_batch_1.bin", 30730000, "", "5dd7e06a14cb22eb9f671a540d1b7c25"},
    {"data_batch_2.bin", 30730000, "", "5ea93a67294ea407fff1d09f752e9692"},
    {"data_batch_3.bin", 30730000, "", "942cd6a4bcdd0dd3c604fbe906cb4421"},
    {"data_batch_4.bin", 30730000, "", "ae636b3ba5c66a11e91e8cb52e771fcb"},
    {"data_batch_5.bin", 30730000, "", "53f37980c15c3d472c316c40844f3f0d"},
    {"test_batch.bin", 30730000, "", "803d5f7f4d78ea53de84dbe85f74fb6d"},
};

constexpr OfficialFile Cifar100Files[] = {
    {"train.bin", 153700000, "", "6172c7755cfe09b2fe270c85cebc1b15"},
    {"test.bin", 30740000, "", "4499cfba6c016c1be1438163640a0898"},
};

constexpr OfficialArchive Cifar10Archives[] = {
    {"https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz", 170052171,
     "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
     "c32a1d4ab5d03f1284b67883e8d87530"},
};

constexpr OfficialArchive Cifar100Archives[] = {
    {"https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz", 168513733,
     "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
     "03b5dce01913d631647c71ecec9e9cb8"},
};

constexpr OfficialArchive ImagenetArchives[] = {
    {"https://image-net.org/data/ILSVRC/2012/ILSVRC2012_img_train.tar", 147897477120,
     "b08200a27a8e34218a0e58fde36b0fe8f73bc377f4acea2d91602057c3ca45bb",
     "1d675b47d978889d74fa0da5fadfb00e"},
    {"https://image-net.org/data/ILSVRC/2012/ILSVRC2012_img_val.tar", 6744924160,
     "c7e06a6c0baccf06d8dbeb6577d71efff84673a5dbdd50633ab44f8ea0456ae0",
     "29b22e2961454d5413ddabcf34fc5622"},
    {"https://image-net.org/data/ILSVRC/2012/ILSVRC2012_devkit_t12.tar.gz", 0, "",
     "fa75699e90414af021442c21a62c3abf"},
};

constexpr OfficialArchive WaterbirdsArchives[] = {
    {"https://nlp.stanford.edu/data/dro/waterbird_complete95_forest2water2.tar.gz", 0, "", ""},
};

constexpr OfficialArchive CelebaArchives[] = {
    {"img_align_celeba.zip of http://mmlab.ie.cuhk.edu.hk/projects/CelebA.html", 1443490838,
     "46fb89443c578308acf364d7d379fe1b9efb793042c0af734b6112e4fd3a8c74",
     "00d2c5bc6d35e252742224ab0c1e8fcb"},
};

constexpr OfficialFile CelebaFiles[] = {
    {"list_attr_celeba.txt", 26721026,
     "f0e5da289d5ccf75ffe8811132694922b60f2af59256ed362afa03fefba324d0",
     "75e246fa4810816ffd6ee81facbd244c", "list_attr_celeba.csv"},
    {"list_eval_partition.txt", 2836386,
     "fc955bcb3ef8fbdf7d5640d9a8693a8431b5f2ee291a5c1449a1549e7e073fe7",
     "d32c9cbf5e040fd4025c592c306e6668", "list_eval_partition.csv"},
};

constexpr OfficialArchive InaturalistArchives[] = {
    {"https://ml-inat-competition-datasets.s3.amazonaws.com/2017/train_val_images.tar.gz",
     198765436676, "c7675e4a3190a13ccd0e1b9d3ae6c6c5de978ac8e794c5623503f1e7880ce4a1",
     "7c784ea5e424efaec655bd392f87301f"},
    {"https://ml-inat-competition-datasets.s3.amazonaws.com/2017/train_val2017.zip", 26836398,
     "e030b52cca0b54709b0b976ddcf811513e05771cabbae4ac5899a56599e9066c", ""},
};

constexpr CatalogueEntry Entries[] = {
    {"fashion-mnist",
     "/usr/share/datasets/fashion-mnist",
     "",
     "https://github.com/zalandoresearch/fashion-mnist",
     "the four .gz files",
     "install Debian's dataset-fashion-mnist",
     {},
     FashionMnistFiles},
    {"mnist",
     "",
     "",
     "https://ossci-datasets.s3.amazonaws.com/mnist/",
     "the four .gz files",
     "put the four .gz files of https://ossci-datasets.s3.amazonaws.com/mnist/ into one folder",
     {},
     MnistFiles},
    {"cifar10", "", "cifar-10-batches-bin", "https://www.cs.toronto.edu/~kriz/cifar.html",
     "the binary version, cifar-10-binary.tar.gz,",
     "unpack https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz", Cifar10Archives,
     Cifar10Files},
    {"cifar100", "", "cifar-100-binary", "https://www.cs.toronto.edu/~kriz/cifar.html",
     "the binary version, cifar-100-binary.tar.gz,",
     "unpack https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz", Cifar100Archives,
     Cifar100Files},
    {"imagenet",
     "",
     "",
     "https://image-net.org/challenges/LSVRC/2012/",
     "ILSVRC2012_img_train.tar as train, ILSVRC2012_img_val.tar as val",
     "with an account at image-net.org, unpack ILSVRC2012_img_train.tar and the archives in it to "
     "train, ILSVRC2012_img_val.tar to val, and ILSVRC2012_devkit_t12.tar.gz beside them",
     ImagenetArchives,
     {},
     true},
    {"waterbirds",
     "",
     "waterbird_complete95_forest2water2",
     "https://github.com/kohpangwei/group_DRO",
     "waterbird_complete95_forest2water2.tar.gz",
     "unpack https://nlp.stanford.edu/data/dro/waterbird_complete95_forest2water2.tar.gz",
     WaterbirdsArchives,
     {},
     true},
    {"celeba", "", "", "http://mmlab.ie.cuhk.edu.hk/projects/CelebA.html",
     "img_align_celeba.zip, with list_attr_celeba.txt and list_eval_partition.txt beside it,",
     "put list_attr_celeba.txt and list_eval_partition.txt of "
     "http://mmlab.ie.cuhk.edu.hk/projects/CelebA.html into one folder and unpack "
     "img_align_celeba.zip there",
     CelebaArchives, CelebaFiles, true},
    {"inaturalist",
     "",
     "",
     "https://github.com/visipedia/inat_comp/tree/master/2017",
     "train_val_images.tar.gz and train_val2017.zip",
     "unpack https://ml-inat-competition-datasets.s3.amazonaws.com/2017/train_val_images.tar.gz "
     "and .../2017/train_val2017.zip into one folder",
     InaturalistArchives,
     {},
     true},
};

std::optional<std::uint64_t> size_if_there(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  const std::uint64_t bytes = fs::file_size(path, error);
  return error ? std::nullopt : std::optional(bytes);
}

LocatedFile locate_file(const OfficialFile& file, std::span<const fs::path> places) {
  std::vector<std::string> names{std::string(file.name), std::string(file.name) + ".gz"};
  if (!file.copy.empty()) names.emplace_back(file.copy);
  for (const fs::path& place : places) {
    for (const std::string& name : names) {
      if (const auto bytes = size_if_there(place / name)) return {name, place / name, bytes};
    }
  }
  return {std::string(file.name), places.front() / file.name, std::nullopt};
}

/// Reads a file that exists; if nothing is wrong the finding stays empty.
void check_contents(const OfficialFile& official, const VerifyProgress& progress,
                    FileCheck& check) {
  PayloadReader reader(check.file.path);
  check.state = FileState::Damaged;
  if (!reader.compressed() && reader.file_bytes() != official.bytes) {
    check.finding =
        fmt::format("holds {} bytes; {} are expected", reader.file_bytes(), official.bytes);
    return;
  }
  const bool has_sha256 = !official.sha256.empty();
  Digest digest(has_sha256 ? DigestKind::Sha256 : DigestKind::Md5);
  std::vector<std::uint8_t> piece(PieceBytes);
  std::uint64_t unpacked_bytes = 0;
  for (std::size_t count; (count = reader.read(piece)) > 0;) {
    digest.add({piece.data(), count});
    unpacked_bytes += count;
    if (unpacked_bytes > official.bytes) break;
    if (progress) progress(check.file.name, reader.consumed_bytes(), reader.file_bytes());
  }
  if (unpacked_bytes != official.bytes) {
    check.finding =
        unpacked_bytes > official.bytes
            ? fmt::format("unpacks to more than the {} bytes expected", official.bytes)
            : fmt::format("unpacks to {} bytes; {} are expected", unpacked_bytes, official.bytes);
    return;
  }
  const std::string found = digest.finish();
  const std::string_view expected = has_sha256 ? official.sha256 : official.md5;
  if (found == expected) {
    check.state = FileState::Good;
    return;
  }
  if (!has_sha256) check.state = FileState::Doubtful;
  check.finding =
      fmt::format("has {} {}; {} is expected", has_sha256 ? "SHA-256" : "MD5", found, expected);
}

}  // namespace

std::span<const CatalogueEntry> catalogue() noexcept { return Entries; }

const CatalogueEntry* find_in_catalogue(std::string_view name) noexcept {
  const auto entry = std::find_if(std::begin(Entries), std::end(Entries),
                                  [&](const CatalogueEntry& e) { return e.name == name; });
  return entry == std::end(Entries) ? nullptr : entry;
}

std::vector<LocatedFile> locate_files(const CatalogueEntry& entry, const fs::path& folder) {
  std::vector<fs::path> places{folder};
  if (!entry.subfolder.empty()) places.push_back(folder / entry.subfolder);
  std::vector<LocatedFile> located;
  for (const OfficialFile& file : entry.files) located.push_back(locate_file(file, places));
  return located;
}

std::string_view name_of(FileState state) noexcept {
  constexpr std::array<std::string_view, 4> Names{"good", "doubtful", "damaged", "missing"};
  return Names[static_cast<std::size_t>(state)];
}

std::vector<FileCheck> verify(const CatalogueEntry& entry, const fs::path& folder,
                              const VerifyProgress& progress) {
  std::vector<LocatedFile> located = locate_files(entry, folder);
  std::vector<FileCheck> checks;
  for (std::size_t i = 0; i < located.size(); ++i) {
    FileCheck& check = checks.emplace_back();
    check.file = std::move(located[i]);
    if (!check.file.bytes) {
      check.finding = "does not exist";
      continue;
    }
    if (check.file.name == entry.files[i].copy) {
      check.state = FileState::Doubtful;
      check.finding =
          fmt::format("is a copy; a checksum is published for {} only", entry.files[i].name);
      continue;
    }
    try {
      check_contents(entry.files[i], progress, check);
    } catch (const BadFile& error) {
      check.state = FileState::Damaged;
      check.finding = error.what();
    }
  }
  return checks;
}

}  // namespace rcap
