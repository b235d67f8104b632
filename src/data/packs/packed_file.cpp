#include "data/packs/packed_file.hpp"

#include <cstring>
#include <span>

#include <fmt/format.h>

#include "data/images/decode_image.hpp"
#include "io/refuse_file.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;
using namespace packed_format;

/// The head of a file whose sizes are consistent.
Head read_head(const fs::path& path, const RegularFile& file) {
  Head head;
  if (file.size() < sizeof head) {
    refuse_file(path, "has {} bytes, a packed file at least {}; it is truncated or something else",
                file.size(), sizeof head);
  }
  if (!file.read(0, std::as_writable_bytes(std::span(&head, 1)))) {
    refuse_file(path, "its head cannot be read from the disk");
  }
  if (head.magic != Magic) {
    refuse_file(path, "byte 0: is not a packed file of rcap, which begins with RCAPPACK");
  }
  if (head.version != Version) {
    refuse_file(path,
                "byte 8: written in format version {}, this rcap reads version {}; pack it again",
                head.version, Version);
  }
  if (head.reserved != 0) {
    refuse_at(path, 12, "the reserved word is {}; it must be 0", head.reserved);
  }
  if (checksum_of(head) != head.head_checksum) {
    refuse_at(path, offsetof(Head, head_checksum),
              "the head has the checksum {:016x}, but says {:016x}", checksum_of(head),
              head.head_checksum);
  }
  return head;
}

void check_sizes(const fs::path& path, const Head& head, std::uint64_t file_bytes) {
  if (head.file_bytes != file_bytes) {
    refuse_at(path, offsetof(Head, file_bytes),
              "the file has {} bytes, but its head says {}: it is {}", file_bytes, head.file_bytes,
              file_bytes < head.file_bytes ? "truncated" : "too long");
  }
  // Each step takes from what is left, so that no sum can overflow.
  std::uint64_t left = file_bytes;
  const auto take = [&](std::size_t field, std::string_view what, std::uint64_t bytes) {
    if (bytes > left) refuse_at(path, field, "{} {} bytes, but {} are left", what, bytes, left);
    left -= bytes;
  };
  const auto take_entries = [&](std::size_t field, std::string_view split, std::uint64_t count) {
    if (count > left / sizeof(Entry)) {
      refuse_at(path, field, "{} has {} images of {} bytes in the index, but {} are left", split,
                count, sizeof(Entry), left);
    }
    left -= count * sizeof(Entry);
  };
  take(0, "the head takes", sizeof(Head));
  take_entries(offsetof(Head, train_count), "train", head.train_count);
  take_entries(offsetof(Head, test_count), "test", head.test_count);
  take(offsetof(Head, name_bytes), "the names take", head.name_bytes);
  take(offsetof(Head, description_bytes), "the description takes", head.description_bytes);
  // The rest are the pixels.
  if (head.index_offset != sizeof(Head) + left) {
    refuse_at(path, offsetof(Head, index_offset),
              "the index begins at byte {}; by the other sizes it must begin at {}",
              head.index_offset, sizeof(Head) + left);
  }
}

}  // namespace

PackedFile::PackedFile(const fs::path& path)
    : path_(path), file_(path, path.string()), head_(read_head(path, file_)) {
  check_sizes(path, head_, file_.size());
  read_tables();
  const std::uint64_t begin = file_.size() - head_.description_bytes;
  description_ = decode_description(table_at(begin), path, begin);
  check_entries();
  is_good_ = std::make_unique<std::atomic<bool>[]>(image_count());
}

std::span<const std::byte> PackedFile::table_at(std::uint64_t offset) const noexcept {
  return std::span(tables_).subspan(static_cast<std::size_t>(offset - head_.index_offset));
}

Entry PackedFile::entry(std::size_t image) const noexcept {
  Entry entry;
  std::memcpy(&entry, table_at(offset_of_entry(image)).data(), sizeof entry);
  return entry;
}

ImageShape PackedFile::shape_of(const Entry& entry) const noexcept {
  return {static_cast<int>(entry.height), static_cast<int>(entry.width), description_.channels};
}

void PackedFile::read(std::size_t image, Image& buffer) const {
  const Entry found = entry(image);
  const ImageShape shape = shape_of(found);
  buffer.resize(shape.height, shape.width, shape.channels);
  const bool is_read = file_.read(found.offset, std::as_writable_bytes(std::span(buffer.pixels)));
  if (!file_.is_unchanged()) {
    refuse_file(path_, "was written to or truncated while its images were read; pack it again");
  }
  if (!is_read) {
    refuse_at(path_, found.offset, "{}: the pixels cannot be read from the disk", describe(image));
  }
  if (is_good_[image].load(std::memory_order_relaxed)) return;
  const std::uint64_t checksum = checksum_of(buffer.pixels.data(), buffer.pixels.size());
  if (checksum != found.checksum) {
    refuse_at(path_, found.offset,
              "{}: the pixels have the checksum {:016x}, but the index says {:016x}",
              describe(image), checksum, found.checksum);
  }
  is_good_[image].store(true, std::memory_order_relaxed);
}

std::string PackedFile::describe(std::size_t image) const {
  const bool in_train = image < head_.train_count;
  return fmt::format("image {} of {} ({})", in_train ? image : image - head_.train_count,
                     in_train ? "train" : "test", name_of(image));
}

std::size_t PackedFile::image_count() const noexcept {
  return static_cast<std::size_t>(head_.train_count + head_.test_count);
}

std::size_t PackedFile::offset_of_entry(std::size_t image) const noexcept {
  return static_cast<std::size_t>(head_.index_offset) + image * sizeof(Entry);
}

std::string_view PackedFile::name_of(std::size_t image) const noexcept {
  const std::uint64_t begin = image == 0 ? 0 : entry(image - 1).name_end;
  const auto* const names =
      reinterpret_cast<const char*>(table_at(offset_of_entry(image_count())).data());
  return {names + begin, static_cast<std::size_t>(entry(image).name_end - begin)};
}

void PackedFile::read_tables() {
  tables_.resize(static_cast<std::size_t>(file_.size() - head_.index_offset));
  if (!file_.read(head_.index_offset, tables_)) {
    refuse_at(path_, head_.index_offset, "the index cannot be read from the disk");
  }
  const std::uint64_t checksum = checksum_of(tables_.data(), tables_.size());
  if (checksum != head_.tables_checksum) {
    refuse_at(path_, head_.index_offset,
              "index, names and description have the checksum {:016x}, but the head says {:016x}",
              checksum, head_.tables_checksum);
  }
}

/// Images follow each other without gaps, so the entries before it determine where each begins.
void PackedFile::check_entries() const {
  std::uint64_t offset = sizeof(Head);
  std::uint64_t name_end = 0;
  for (std::size_t i = 0; i < image_count(); ++i) {
    const Entry found = entry(i);
    check_place(i, found, offset);
    check_meaning(i, found);
    if (found.name_end < name_end || found.name_end > head_.name_bytes) {
      refuse_field(i, offsetof(Entry, name_end),
                   "its name ends at {} of the names; it must lie between {} and {}",
                   found.name_end, name_end, head_.name_bytes);
    }
    name_end = found.name_end;
    const ImageShape shape = shape_of(found);
    offset += ImageView{nullptr, shape.height, shape.width, shape.channels}.bytes();
  }
  if (offset != head_.index_offset) {
    refuse_at(path_, offset, "{} bytes follow the last image", head_.index_offset - offset);
  }
  if (name_end != head_.name_bytes) {
    refuse_at(path_, offset_of_entry(image_count()) + name_end, "{} bytes follow the last name",
              head_.name_bytes - name_end);
  }
}

void PackedFile::check_place(std::size_t image, const Entry& found, std::uint64_t offset) const {
  if (found.offset != offset) {
    refuse_field(image, offsetof(Entry, offset),
                 "it begins at byte {}, not at {}, where the one before it ends", found.offset,
                 offset);
  }
  // Both have 32 bits, so their product has no more than 64.
  const std::uint64_t pixels = std::uint64_t{found.height} * found.width;
  if (pixels == 0 || pixels > static_cast<std::uint64_t>(MostPixels)) {
    refuse_field(image, offsetof(Entry, height),
                 "it has {} x {} pixels; an image must have between 1 and {}", found.width,
                 found.height, MostPixels);
  }
  const std::uint64_t bytes = pixels * static_cast<std::uint64_t>(description_.channels);
  if (bytes > head_.index_offset - offset) {
    refuse_field(image, offsetof(Entry, height),
                 "its {} x {} pixels take {} bytes, but {} are left", found.width, found.height,
                 bytes, head_.index_offset - offset);
  }
}

void PackedFile::check_meaning(std::size_t image, const Entry& found) const {
  const auto classes = static_cast<std::int64_t>(description_.class_names.size());
  if (found.label < 0 || found.label >= classes) {
    refuse_field(image, offsetof(Entry, label), "its label is {}; there are {} classes",
                 found.label, classes);
  }
  const auto groups = static_cast<std::int64_t>(description_.group_names.size());
  const std::size_t first = image < head_.train_count ? 0 : head_.train_count;
  const bool has_groups = entry(first).group != NoGroup;
  if (has_groups ? found.group < 0 || found.group >= groups : found.group != NoGroup) {
    refuse_field(image, offsetof(Entry, group), "its group is {}; {}", found.group,
                 has_groups ? fmt::format("there are {} groups", groups)
                            : "the images of its split have no group, so it must be -1");
  }
}

}  // namespace rcap
