#include "data/packs/packed_file.hpp"

#include <cerrno>
#include <cstring>
#include <span>
#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

#include "data/images/decode_image.hpp"
#include "io/refuse_file.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;
using namespace packed_format;

/// The head of a file whose sizes add up.
Head read_head(const fs::path& path, std::span<const std::byte> bytes) {
  Head head;
  if (bytes.size() < sizeof head) {
    refuse_file(path, "has {} bytes, a packed file at least {}; it is cut off or something else",
                bytes.size(), sizeof head);
  }
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.magic != Magic) {
    refuse_file(path, "byte 0: is not a packed file of rcap; such a file begins with RCAPPACK");
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
              "the head has the checksum {:016x}, it says {:016x}", checksum_of(head),
              head.head_checksum);
  }
  return head;
}

void check_sizes(const fs::path& path, const Head& head, std::uint64_t file_bytes) {
  if (head.file_bytes != file_bytes) {
    refuse_at(path, offsetof(Head, file_bytes), "the file has {} bytes, its head says {}: it is {}",
              file_bytes, head.file_bytes,
              file_bytes < head.file_bytes ? "cut off" : "longer than that");
  }
  // Each step takes from what is left, so that no sum can overflow.
  std::uint64_t left = file_bytes;
  const auto take = [&](std::size_t field, std::string_view what, std::uint64_t bytes) {
    if (bytes > left) refuse_at(path, field, "{} {} bytes where {} are left", what, bytes, left);
    left -= bytes;
  };
  const auto take_entries = [&](std::size_t field, std::string_view split, std::uint64_t count) {
    if (count > left / sizeof(Entry)) {
      refuse_at(path, field, "{} has {} images of {} bytes in the index where {} are left", split,
                count, sizeof(Entry), left);
    }
    left -= count * sizeof(Entry);
  };
  take(0, "the head takes", sizeof(Head));
  take_entries(offsetof(Head, train_count), "train", head.train_count);
  take_entries(offsetof(Head, test_count), "test", head.test_count);
  take(offsetof(Head, name_bytes), "the names take", head.name_bytes);
  take(offsetof(Head, description_bytes), "the description takes", head.description_bytes);
  // What is left are the pixels.
  if (head.index_offset != sizeof(Head) + left) {
    refuse_at(path, offsetof(Head, index_offset),
              "the index begins at byte {}; by the other sizes it begins at {}", head.index_offset,
              sizeof(Head) + left);
  }
}

}  // namespace

PackedFile::PackedFile(const fs::path& path)
    : path_(path), file_(path, path.string()), head_(read_head(path, file_.bytes())) {
  const auto bytes = file_.bytes();
  check_sizes(path, head_, bytes.size());
  check_tables();
  const std::size_t begin = bytes.size() - head_.description_bytes;
  description_ = decode_description(bytes.subspan(begin), path, begin);
  check_entries();
  is_good_ = std::make_unique<std::atomic<bool>[]>(image_count());
}

Entry PackedFile::entry(std::size_t image) const noexcept {
  Entry entry;
  std::memcpy(&entry, file_.bytes().data() + offset_of_entry(image), sizeof entry);
  return entry;
}

ImageView PackedFile::view(const Entry& entry) const noexcept {
  return {reinterpret_cast<const std::uint8_t*>(file_.bytes().data()) + entry.offset,
          static_cast<int>(entry.height), static_cast<int>(entry.width), description_.channels};
}

ImageView PackedFile::read(std::size_t image) const {
  const Entry found = entry(image);
  const ImageView pixels = view(found);
  if (is_good_[image].load(std::memory_order_relaxed)) {
    announce(found.offset, pixels.bytes());
    return pixels;
  }
  if (!bring(found.offset, pixels.bytes())) {
    refuse_at(path_, found.offset, "{}: the pixels cannot be read from the disk", describe(image));
  }
  const std::uint64_t checksum = checksum_of(pixels.pixels, pixels.bytes());
  if (checksum != found.checksum) {
    refuse_at(path_, found.offset,
              "{}: the pixels have the checksum {:016x}, the index says {:016x}", describe(image),
              checksum, found.checksum);
  }
  is_good_[image].store(true, std::memory_order_relaxed);
  return pixels;
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
      reinterpret_cast<const char*>(file_.bytes().data()) + offset_of_entry(image_count());
  return {names + begin, static_cast<std::size_t>(entry(image).name_end - begin)};
}

/// Tells the system that a part of the file will be read: it comes from the disk in one go,
/// where faults would fetch it piece by piece.
std::span<std::byte> PackedFile::announce(std::uint64_t offset, std::uint64_t size) const noexcept {
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t begin = offset / page * page;
  auto* const start = const_cast<std::byte*>(file_.bytes().data()) + begin;
  const std::uint64_t length = offset + size - begin;
  ::madvise(start, length, MADV_WILLNEED);
  return {start, length};
}

/// @return false if a part of the file cannot be read: the disk fails, or the file has become
///         shorter
bool PackedFile::bring(std::uint64_t offset, std::uint64_t size) const noexcept {
  [[maybe_unused]] const std::span<std::byte> pages = announce(offset, size);
#ifdef MADV_POPULATE_READ
  // Tells of an error that a plain read of the memory would answer with a deadly signal.
  while (::madvise(pages.data(), pages.size(), MADV_POPULATE_READ) != 0) {
    if (errno == EFAULT || errno == EIO) return false;
    if (errno != EAGAIN && errno != EINTR) break;  // a kernel that does not know it
  }
#endif
  return true;
}

void PackedFile::check_tables() const {
  const auto tables = file_.bytes().subspan(head_.index_offset);
  if (!bring(head_.index_offset, tables.size())) {
    refuse_at(path_, head_.index_offset, "the index cannot be read from the disk");
  }
  const std::uint64_t checksum = checksum_of(tables.data(), tables.size());
  if (checksum != head_.tables_checksum) {
    refuse_at(path_, head_.index_offset,
              "index, names and description have the checksum {:016x}, the head says {:016x}",
              checksum, head_.tables_checksum);
  }
}

/// Images follow each other without gaps, so each entry is settled by those before it.
void PackedFile::check_entries() const {
  std::uint64_t offset = sizeof(Head);
  std::uint64_t name_end = 0;
  for (std::size_t i = 0; i < image_count(); ++i) {
    const Entry found = entry(i);
    check_place(i, found, offset);
    check_meaning(i, found);
    if (found.name_end < name_end || found.name_end > head_.name_bytes) {
      refuse_field(i, offsetof(Entry, name_end),
                   "its name ends at {} of the names; it lies between {} and {}", found.name_end,
                   name_end, head_.name_bytes);
    }
    name_end = found.name_end;
    offset += view(found).bytes();
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
                 "it begins at byte {}, not at {} where the one before it ends", found.offset,
                 offset);
  }
  // Both have 32 bits, so their product has no more than 64.
  const std::uint64_t pixels = std::uint64_t{found.height} * found.width;
  if (pixels == 0 || pixels > static_cast<std::uint64_t>(MostPixels)) {
    refuse_field(image, offsetof(Entry, height),
                 "it has {} x {} pixels; an image has between 1 and {}", found.width, found.height,
                 MostPixels);
  }
  const std::uint64_t bytes = pixels * static_cast<std::uint64_t>(description_.channels);
  if (bytes > head_.index_offset - offset) {
    refuse_field(image, offsetof(Entry, height),
                 "its {} x {} pixels take {} bytes where {} are left", found.width, found.height,
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
                            : "the images of its split have none, which is -1");
  }
}

}  // namespace rcap
