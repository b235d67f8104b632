#include "data/sets/idx_reader.hpp"

#include <array>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "data/images/memory_images.hpp"
#include "io/payload_reader.hpp"
#include "io/refuse_file.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t ImagesMagic = 0x00000803;
constexpr std::uint32_t LabelsMagic = 0x00000801;
constexpr std::uint32_t MostPixelsASide = 1 << 15;

/// A header field; its bytes are those of the number, highest first.
std::uint32_t read_number(PayloadReader& reader, const fs::path& path) {
  std::array<std::uint8_t, 4> bytes{};
  if (reader.read(bytes) != bytes.size()) {
    refuse_file(path, "ends inside the header; an IDX file has 8 bytes or more");
  }
  std::uint32_t number = 0;
  for (const std::uint8_t byte : bytes) number = number << 8 | byte;
  return number;
}

void check_magic(PayloadReader& reader, const fs::path& path, std::uint32_t wanted) {
  const std::uint32_t magic = read_number(reader, path);
  if (magic == wanted) return;
  const char* kind = magic == ImagesMagic   ? ", which is a file of images"
                     : magic == LabelsMagic ? ", which is a file of labels"
                                            : "";
  refuse_file(path, "begins with 0x{:08x}{}; IDX {} begin with 0x{:08x}", magic, kind,
              wanted == ImagesMagic ? "images" : "labels", wanted);
}

/// How many bytes follow the header.
/// @throws BadFile  if they cannot be in this file
std::size_t count_data_bytes(const PayloadReader& reader, const fs::path& path,
                             std::uint64_t header_bytes, std::span<const std::uint32_t> sizes) {
  std::uint64_t bytes = 1;
  std::string product;
  for (const std::uint32_t size : sizes) {
    product += fmt::format("{}{}", product.empty() ? "" : " x ", size);
    if (__builtin_mul_overflow(bytes, std::uint64_t{size}, &bytes)) {
      bytes = std::numeric_limits<std::uint64_t>::max() - header_bytes;
    }
  }
  const std::uint64_t most_bytes =
      reader.file_bytes() * (reader.compressed() ? PayloadReader::MostExpansion : 1);
  if (bytes + header_bytes > most_bytes) {
    refuse_file(
        path,
        "its header claims {} bytes, the file has {}{}; it is truncated or damaged; fetch it again",
        product, reader.file_bytes(), reader.compressed() ? " packed" : "");
  }
  return static_cast<std::size_t>(bytes);
}

std::vector<std::uint8_t> read_data(PayloadReader& reader, const fs::path& path,
                                    std::uint64_t header_bytes,
                                    std::span<const std::uint32_t> sizes) {
  std::vector<std::uint8_t> data(count_data_bytes(reader, path, header_bytes, sizes));
  const std::size_t count = reader.read(data);
  if (count < data.size()) {
    refuse_file(path, "ends after {} bytes of data, its header claims {}; fetch it again", count,
                data.size());
  }
  std::uint8_t one_more = 0;
  if (reader.read({&one_more, 1}) != 0) {
    refuse_file(path, "continues after the {} bytes of data that its header claims; fetch it again",
                data.size());
  }
  return data;
}

void check_side(const fs::path& path, std::string_view what, std::uint32_t size) {
  if (size >= 1 && size <= MostPixelsASide) return;
  refuse_file(path, "images have {} {}; it must lie between 1 and {}", what, size, MostPixelsASide);
}

void check_not_empty(const fs::path& path, std::string_view what, std::uint32_t count) {
  if (count == 0) refuse_file(path, "holds no {}", what);
}

}  // namespace

IdxImages read_idx_images(const fs::path& path) {
  PayloadReader reader(path);
  check_magic(reader, path, ImagesMagic);
  std::array<std::uint32_t, 3> sizes{};
  for (std::uint32_t& size : sizes) size = read_number(reader, path);
  const auto [count, height, width] = sizes;
  check_not_empty(path, "image", count);
  check_side(path, "height", height);
  check_side(path, "width", width);
  return {read_data(reader, path, 16, sizes), count, static_cast<int>(height),
          static_cast<int>(width)};
}

std::vector<std::uint8_t> read_idx_labels(const fs::path& path) {
  PayloadReader reader(path);
  check_magic(reader, path, LabelsMagic);
  const std::array sizes{read_number(reader, path)};
  check_not_empty(path, "label", sizes[0]);
  return read_data(reader, path, 8, sizes);
}

fs::path find_idx_file(const fs::path& folder, std::string_view name) {
  const fs::path plain = folder / name;
  const fs::path packed = folder / (std::string(name) + ".gz");
  for (const fs::path& path : {plain, packed}) {
    if (is_there(path)) return path;
  }
  refuse_file(plain, "there is no such file, nor one with .gz appended");
}

Split read_idx_split(const fs::path& images_path, const fs::path& labels_path,
                     ClassId class_count) {
  IdxImages images = read_idx_images(images_path);
  const std::vector<std::uint8_t> labels = read_idx_labels(labels_path);
  if (static_cast<std::int64_t>(labels.size()) != images.count) {
    refuse_file(labels_path, "holds {} labels, {} holds {} images; each image has one label",
                labels.size(), images_path.string(), images.count);
  }
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < class_count) continue;
    refuse_file(labels_path, "label {} is {}; labels must lie between 0 and {}", i, labels[i],
                class_count - 1);
  }
  const ImageShape shape{images.height, images.width, 1};
  const std::vector<MemoryImages::Part> parts{{images_path.filename().string(), images.count}};
  return {std::make_shared<MemoryImages>(shape, std::move(images.pixels), parts),
          std::vector<ClassId>(labels.begin(), labels.end()),
          {}};
}

}  // namespace rcap
