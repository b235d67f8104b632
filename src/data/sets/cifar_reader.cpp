#include "data/sets/cifar_reader.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "data/images/memory_images.hpp"
#include "io/payload_reader.hpp"
#include "io/refuse_file.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

constexpr int Side = 32;
constexpr std::size_t PlaneBytes = Side * Side;
constexpr std::size_t PixelBytes = 3 * PlaneBytes;
constexpr std::uint64_t MostFileBytes = std::uint64_t{1} << 32;
constexpr std::uint64_t MostNameBytes = 1 << 16;
constexpr int MostFineClasses = 100;

struct BinaryFile {
  std::string_view name;
  std::uint64_t official_records;
};

/// One byte before the pixels of a record.
struct LabelField {
  std::string_view name;
  int count;
};

constexpr BinaryFile Cifar10Train[] = {{"data_batch_1.bin", 10000},
                                       {"data_batch_2.bin", 10000},
                                       {"data_batch_3.bin", 10000},
                                       {"data_batch_4.bin", 10000},
                                       {"data_batch_5.bin", 10000}};
constexpr BinaryFile Cifar10Test[] = {{"test_batch.bin", 10000}};
constexpr BinaryFile Cifar100Train[] = {{"train.bin", 50000}};
constexpr BinaryFile Cifar100Test[] = {{"test.bin", 10000}};
constexpr LabelField Cifar10Labels[] = {{"label", 10}};
constexpr LabelField Cifar100Labels[] = {{"coarse label", 20}, {"fine label", MostFineClasses}};
constexpr std::string_view Cifar10Names[] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                             "dog",      "frog",       "horse", "ship", "truck"};

/// The differences between the two data sets.
struct CifarFormat {
  std::string_view name;
  std::string_view title;
  std::string_view archive;
  std::string_view subfolder;
  std::string_view python_subfolder;
  std::string_view python_file;  ///< without .bin: the pickle of the Python version
  std::string_view names_file;
  std::span<const std::string_view> known_names;
  std::span<const LabelField> labels;  ///< the last one is the class
  std::span<const BinaryFile> train;
  std::span<const BinaryFile> test;

  [[nodiscard]] std::size_t record_bytes() const noexcept { return labels.size() + PixelBytes; }
  [[nodiscard]] int class_count() const noexcept { return labels.back().count; }
};

constexpr CifarFormat Formats[] = {
    {"cifar10", "CIFAR-10", "cifar-10-binary.tar.gz", "cifar-10-batches-bin", "cifar-10-batches-py",
     "data_batch_1", "batches.meta.txt", Cifar10Names, Cifar10Labels, Cifar10Train, Cifar10Test},
    {"cifar100",
     "CIFAR-100",
     "cifar-100-binary.tar.gz",
     "cifar-100-binary",
     "cifar-100-python",
     "train",
     "fine_label_names.txt",
     {},
     Cifar100Labels,
     Cifar100Train,
     Cifar100Test},
};

const CifarFormat& format_of(CifarKind kind) { return Formats[kind == CifarKind::Cifar10 ? 0 : 1]; }
const CifarFormat& other_than(CifarKind kind) {
  return Formats[kind == CifarKind::Cifar10 ? 1 : 0];
}

bool has_any_file(const fs::path& folder, const CifarFormat& format) {
  const auto is_in_folder = [&](const BinaryFile& file) { return is_there(folder / file.name); };
  return std::any_of(format.train.begin(), format.train.end(), is_in_folder) ||
         std::any_of(format.test.begin(), format.test.end(), is_in_folder);
}

[[noreturn]] void refuse_pickle(const fs::path& path, const CifarFormat& format) {
  refuse_file(path,
              "belongs to the Python version of {}, which is not read; use the binary archive, {}",
              format.title, format.archive);
}

/// The folder with the files; if they are not there, what else is there explains why.
fs::path find_files(const fs::path& folder, CifarKind kind) {
  const CifarFormat& format = format_of(kind);
  for (const fs::path& place : {folder, folder / format.subfolder}) {
    if (has_any_file(place, format)) return place;
  }
  for (const fs::path& pickle :
       {folder / format.python_file, folder / format.python_subfolder / format.python_file}) {
    if (is_there(pickle)) refuse_pickle(pickle, format);
  }
  const CifarFormat& other = other_than(kind);
  for (const fs::path& place : {folder, folder / other.subfolder}) {
    if (!has_any_file(place, other)) continue;
    refuse_file(place, "holds {}, not {}; open it as {}", other.title, format.title, other.name);
  }
  refuse_file(folder, "has no {}, neither directly nor in {}; unpack {} there",
              format.train.front().name, format.subfolder, format.archive);
}

/// Samples of one split as they are read, file after file.
struct Samples {
  std::vector<std::uint8_t> pixels;
  std::vector<ClassId> labels;
  std::vector<MemoryImages::Part> parts;
};

void check_labels(const fs::path& path, const CifarFormat& format, std::size_t record,
                  const std::uint8_t* bytes) {
  for (std::size_t i = 0; i < format.labels.size(); ++i) {
    const LabelField& field = format.labels[i];
    if (bytes[i] < field.count) continue;
    refuse_file(path, "{} of image {} is {}; {} labels must lie between 0 and {}", field.name,
                record, bytes[i], format.title, field.count - 1);
  }
}

/// 1024 red, 1024 green and 1024 blue values become 1024 pixels.
void interleave(const std::uint8_t* planes, std::uint8_t* pixels) {
  for (std::size_t i = 0; i < PlaneBytes; ++i) {
    for (std::size_t channel = 0; channel < 3; ++channel) {
      pixels[3 * i + channel] = planes[channel * PlaneBytes + i];
    }
  }
}

void check_length(const fs::path& path, const CifarFormat& format,
                  std::span<const std::uint8_t> bytes) {
  // A pickle of protocol 2 or later, whatever it is called.
  if (bytes.size() > 2 && bytes[0] == 0x80 && bytes[1] >= 2 && bytes[1] <= 5) {
    refuse_pickle(path, format);
  }
  if (!bytes.empty() && bytes.size() % format.record_bytes() == 0) return;
  refuse_file(path,
              "holds {} bytes; a {} file is a whole number of records of {} bytes, at least one; "
              "it is truncated or of another kind; unpack {} again",
              bytes.size(), format.title, format.record_bytes(), format.archive);
}

void append_file(const fs::path& path, const CifarFormat& format, Samples& samples) {
  const std::vector<std::uint8_t> bytes = read_file(path, MostFileBytes);
  check_length(path, format, bytes);
  const std::size_t count = bytes.size() / format.record_bytes();
  const std::size_t first = samples.labels.size();
  samples.pixels.resize((first + count) * PixelBytes);
  samples.labels.reserve(first + count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* record = bytes.data() + i * format.record_bytes();
    check_labels(path, format, i, record);
    samples.labels.push_back(record[format.labels.size() - 1]);
    interleave(record + format.labels.size(), samples.pixels.data() + (first + i) * PixelBytes);
  }
  samples.parts.push_back({path.filename().string(), static_cast<std::int64_t>(count)});
}

Split read_split(const fs::path& folder, const CifarFormat& format,
                 std::span<const BinaryFile> files, std::vector<std::string>& remarks) {
  Samples samples;
  for (const BinaryFile& file : files) {
    append_file(folder / file.name, format, samples);
    const auto count = static_cast<std::uint64_t>(samples.parts.back().count);
    if (count == file.official_records) continue;
    remarks.push_back(fmt::format("{} holds {} images, the official file has {}", file.name, count,
                                  file.official_records));
  }
  const ImageShape shape{Side, Side, 3};
  return {std::make_shared<MemoryImages>(shape, std::move(samples.pixels), samples.parts),
          std::move(samples.labels),
          {}};
}

/// The non-empty lines of the file of names.
std::vector<std::string> read_names(const fs::path& path, int class_count) {
  const std::vector<std::uint8_t> bytes = read_file(path, MostNameBytes);
  std::vector<std::string> names(1);
  for (const std::uint8_t byte : bytes) {
    if (byte != '\n' && byte != '\r') {
      names.back().push_back(static_cast<char>(byte));
    } else if (!names.back().empty()) {
      names.emplace_back();
    }
  }
  if (names.back().empty()) names.pop_back();
  if (static_cast<int>(names.size()) != class_count) {
    refuse_file(path, "holds {} names, one per line; there are {} classes", names.size(),
                class_count);
  }
  return names;
}

std::vector<std::string> class_names(const fs::path& folder, const CifarFormat& format) {
  const fs::path path = folder / format.names_file;
  if (is_there(path)) return read_names(path, format.class_count());
  std::vector<std::string> names(format.known_names.begin(), format.known_names.end());
  for (int i = static_cast<int>(names.size()); i < format.class_count(); ++i) {
    names.push_back(fmt::format("class {}", i));
  }
  return names;
}

}  // namespace

Dataset read_cifar(const fs::path& folder, CifarKind kind) {
  const CifarFormat& format = format_of(kind);
  const fs::path place = find_files(folder, kind);
  Dataset dataset;
  dataset.name = format.name;
  dataset.class_names = class_names(place, format);
  dataset.channels = 3;
  dataset.train = read_split(place, format, format.train, dataset.remarks);
  dataset.test = read_split(place, format, format.test, dataset.remarks);
  return dataset;
}

}  // namespace rcap
