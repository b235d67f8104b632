#include "io/pth/zip_archive.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <zlib.h>

#include "base/quoting.hpp"
#include "io/pth/pth_bytes.hpp"

namespace rcap::pth {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t LocalSignature = 0x04034b50;
constexpr std::uint32_t EntrySignature = 0x02014b50;
constexpr std::uint32_t EndSignature = 0x06054b50;
constexpr std::uint32_t End64Signature = 0x06064b50;
constexpr std::uint32_t Locator64Signature = 0x07064b50;
constexpr std::size_t LocalBytes = 30;
constexpr std::size_t EntryBytes = 46;
constexpr std::size_t EndBytes = 22;
constexpr std::size_t End64Bytes = 56;
constexpr std::size_t Locator64Bytes = 20;
constexpr std::size_t LongestComment = 0xFFFF;
constexpr std::uint16_t Extra64 = 0x0001;  ///< the kind of extra field that ZIP64 uses
/// The content of a 16- or 32-bit field whose value is in the ZIP64 part.
constexpr std::uint64_t Elsewhere16 = 0xFFFF;
constexpr std::uint64_t Elsewhere32 = 0xFFFFFFFF;
constexpr std::uint16_t EncryptedFlag = 1;

/// Where the list of records is.
struct Directory {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;
};

/// A record as the list describes it.
struct Entry {
  std::string_view name;
  std::uint16_t method = 0;
  std::uint32_t checksum = 0;
  std::uint64_t bytes = 0;   ///< in the archive
  std::uint64_t offset = 0;  ///< of the header before its data
  std::uint64_t end = 0;     ///< of its data
  std::span<const std::byte> data;
};

class ZipReader {
 public:
  ZipReader(const fs::path& path, std::span<const std::byte> file) : path_(path), file_(file) {}

  std::vector<Entry> read() {
    const Directory directory = find_directory();
    std::vector<Entry> entries = read_entries(directory);
    for (Entry& entry : entries) find_data(entry);
    check_layout(entries, directory.offset);
    for (const Entry& entry : entries) check_checksum(entry);
    return entries;
  }

 private:
  [[nodiscard]] ByteReader reader_at(std::uint64_t offset) const {
    return {path_, "the file", file_, static_cast<std::size_t>(offset)};
  }

  [[nodiscard]] std::uint32_t signature_at(std::uint64_t offset) const {
    return reader_at(offset).take_number<std::uint32_t>("a signature");
  }

  /// The last record of an archive; a comment may follow it, to the end of the file.
  [[nodiscard]] std::uint64_t find_end() const {
    if (file_.size() >= EndBytes) {
      const std::size_t last = file_.size() - EndBytes;
      for (std::size_t back = 0; back <= std::min(last, LongestComment); ++back) {
        const std::size_t offset = last - back;
        if (signature_at(offset) != EndSignature) continue;
        if (reader_at(offset + EndBytes - 2).take_number<std::uint16_t>("a length") == back) {
          return offset;
        }
      }
    }
    refuse(path_,
           "is a zip archive without its end, the list of its records; it is cut short, fetch or "
           "save it again");
  }

  [[nodiscard]] Directory find_directory() const {
    std::uint64_t end = find_end();
    ByteReader reader = reader_at(end + 4);
    const auto disk = reader.take_number<std::uint32_t>("two disk numbers");
    const auto count_here = reader.take_number<std::uint16_t>("a count");
    Directory directory;
    directory.count = reader.take_number<std::uint16_t>("a count");
    directory.bytes = reader.take_number<std::uint32_t>("a size");
    directory.offset = reader.take_number<std::uint32_t>("an offset");
    if (disk != 0 || count_here != directory.count) {
      refuse(path_, "is a zip archive of several parts; save it as one file with torch.save");
    }
    if (const auto end64 = find_end64(end)) {
      end = *end64;
      directory = read_end64(end, directory);
    }
    if (directory.offset > end || directory.bytes != end - directory.offset) {
      refuse(path_,
             "its list of records should fill {} bytes from byte {} on and end at byte {}; the "
             "file is damaged",
             directory.bytes, directory.offset, end);
    }
    return directory;
  }

  /// Where the ZIP64 form of the end is, if the archive has one.
  [[nodiscard]] std::optional<std::uint64_t> find_end64(std::uint64_t end) const {
    if (end < Locator64Bytes + End64Bytes) return std::nullopt;
    const std::uint64_t locator = end - Locator64Bytes;
    if (signature_at(locator) != Locator64Signature) return std::nullopt;
    const auto offset = reader_at(locator + 8).take_number<std::uint64_t>("an offset");
    if (offset != locator - End64Bytes || signature_at(offset) != End64Signature) {
      refuse(path_,
             "the ZIP64 end of its list should be at byte {}, but byte {} is named; the file is "
             "damaged",
             locator - End64Bytes, offset);
    }
    return offset;
  }

  /// @param small  what the 16- and 32-bit fields say; it must not contradict
  [[nodiscard]] Directory read_end64(std::uint64_t end, const Directory& small) const {
    ByteReader reader = reader_at(end + 24);
    const auto count_here = reader.take_number<std::uint64_t>("a count");
    Directory directory;
    directory.count = reader.take_number<std::uint64_t>("a count");
    directory.bytes = reader.take_number<std::uint64_t>("a size");
    directory.offset = reader.take_number<std::uint64_t>("an offset");
    const auto agrees = [](std::uint64_t field, std::uint64_t elsewhere, std::uint64_t value) {
      return field == elsewhere || field == value;
    };
    if (count_here != directory.count || !agrees(small.count, Elsewhere16, directory.count) ||
        !agrees(small.bytes, Elsewhere32, directory.bytes) ||
        !agrees(small.offset, Elsewhere32, directory.offset)) {
      refuse(path_, "the two ends of its list of records contradict each other; it is damaged");
    }
    return directory;
  }

  [[nodiscard]] std::vector<Entry> read_entries(const Directory& directory) const {
    if (directory.count > directory.bytes / EntryBytes) {
      refuse(path_, "claims {} records in a list of {} bytes; each takes {} or more",
             directory.count, directory.bytes, EntryBytes);
    }
    ByteReader list(path_, "the file",
                    file_.first(static_cast<std::size_t>(directory.offset + directory.bytes)),
                    static_cast<std::size_t>(directory.offset));
    std::vector<Entry> entries;
    entries.reserve(static_cast<std::size_t>(directory.count));
    for (std::uint64_t i = 0; i < directory.count; ++i) entries.push_back(read_entry(list));
    if (list.left() != 0) {
      refuse(path_, "{} bytes follow the list of its {} records; it is damaged", list.left(),
             directory.count);
    }
    return entries;
  }

  [[nodiscard]] Entry read_entry(ByteReader& list) const {
    const std::size_t offset = list.position();
    if (list.take_number<std::uint32_t>("a record") != EntrySignature) {
      refuse(path_, "{} does not begin a record; the list of records is damaged",
             list.place(offset));
    }
    Entry entry;
    list.skip(4, "versions");
    const auto flags = list.take_number<std::uint16_t>("flags");
    entry.method = list.take_number<std::uint16_t>("a method");
    list.skip(4, "a time");
    entry.checksum = list.take_number<std::uint32_t>("a checksum");
    entry.bytes = list.take_number<std::uint32_t>("a size");
    std::uint64_t unpacked_bytes = list.take_number<std::uint32_t>("a size");
    const auto name_bytes = list.take_number<std::uint16_t>("a length");
    const auto extra_bytes = list.take_number<std::uint16_t>("a length");
    const auto comment_bytes = list.take_number<std::uint16_t>("a length");
    list.skip(8, "attributes");
    entry.offset = list.take_number<std::uint32_t>("an offset");
    entry.name = list.take_text(name_bytes, "a name");
    ByteReader large = find_large_numbers(entry.name, list.take(extra_bytes, "extra fields"));
    for (std::uint64_t* field : {&unpacked_bytes, &entry.bytes, &entry.offset}) {
      if (*field == Elsewhere32) *field = large.take_number<std::uint64_t>("a number");
    }
    list.skip(comment_bytes, "a comment");
    check_stored(entry, flags, unpacked_bytes);
    return entry;
  }

  /// The content of the extra field with the numbers that take 64 bits; empty if there is none.
  [[nodiscard]] ByteReader find_large_numbers(std::string_view name,
                                              std::span<const std::byte> extra) const {
    const std::string part = fmt::format("the extra fields of record {}", in_quotes(name));
    ByteReader fields(path_, part, extra);
    while (fields.left() > 0) {
      const auto kind = fields.take_number<std::uint16_t>("a kind");
      const auto bytes = fields.take_number<std::uint16_t>("a length");
      const auto content = fields.take(bytes, "a field");
      if (kind == Extra64) return {path_, "the ZIP64 field of record " + in_quotes(name), content};
    }
    return {path_, part, {}};
  }

  void check_stored(const Entry& entry, std::uint16_t flags, std::uint64_t unpacked_bytes) const {
    if ((flags & EncryptedFlag) != 0) {
      refuse(path_, "record {} is encrypted; save it with torch.save", in_quotes(entry.name));
    }
    if (entry.method == 0 && unpacked_bytes != entry.bytes) {
      refuse(path_,
             "record {} is not compressed, yet has {} bytes packed and {} unpacked; the file is "
             "damaged",
             in_quotes(entry.name), entry.bytes, unpacked_bytes);
    }
  }

  /// The header before the data repeats the name of the record and gives its own length.
  void find_data(Entry& entry) const {
    const std::string name = in_quotes(entry.name);
    if (entry.offset > file_.size() || signature_at(entry.offset) != LocalSignature) {
      refuse(path_, "record {} should begin at byte {}, but there is none", name, entry.offset);
    }
    ByteReader header = reader_at(entry.offset + LocalBytes - 4);
    const auto name_bytes = header.take_number<std::uint16_t>("a length");
    const auto extra_bytes = header.take_number<std::uint16_t>("a length");
    const std::string_view repeated = header.take_text(name_bytes, "a name");
    if (repeated != entry.name) {
      refuse(path_, "record {} is called {} at byte {}; the file is damaged", name,
             in_quotes(repeated), entry.offset);
    }
    header.skip(extra_bytes, "extra fields");
    entry.data = header.take(entry.bytes, fmt::format("record {}", name));
    entry.end = header.position();
  }

  /// Sorts by offset and checks that records do not overlap and end before the list.
  void check_layout(std::vector<Entry>& entries, std::uint64_t directory_offset) const {
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return a.offset < b.offset; });
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const bool last = i + 1 == entries.size();
      const std::uint64_t next = last ? directory_offset : entries[i + 1].offset;
      if (entries[i].end > next) {
        refuse(path_, "record {} ends at byte {}, but the next one begins at {}",
               in_quotes(entries[i].name), entries[i].end, next);
      }
    }
  }

  void check_checksum(const Entry& entry) const {
    if (entry.method != 0) return;
    const auto* bytes = reinterpret_cast<const Bytef*>(entry.data.data());
    // Without bytes zlib returns the initial value.
    const auto checksum =
        static_cast<std::uint32_t>(entry.data.empty() ? 0 : ::crc32_z(0, bytes, entry.data.size()));
    if (checksum == entry.checksum) return;
    refuse(path_,
           "record {} has the checksum {:08x}, the list of records says {:08x}; the file is "
           "damaged, or was saved with set_crc32_options(False): fetch or save it again",
           in_quotes(entry.name), checksum, entry.checksum);
  }

  const fs::path& path_;
  std::span<const std::byte> file_;
};

}  // namespace

ZipArchive::ZipArchive(const fs::path& path, std::span<const std::byte> file) {
  for (const Entry& entry : ZipReader(path, file).read()) {
    records_.push_back({entry.name, entry.data, entry.method});
  }
  std::sort(records_.begin(), records_.end(),
            [](const ZipRecord& a, const ZipRecord& b) { return a.name < b.name; });
  const auto repeated =
      std::adjacent_find(records_.begin(), records_.end(),
                         [](const ZipRecord& a, const ZipRecord& b) { return a.name == b.name; });
  if (repeated != records_.end()) {
    refuse(path, "record {} appears twice", in_quotes(repeated->name));
  }
}

const ZipRecord* ZipArchive::find(std::string_view name) const noexcept {
  const auto found = std::lower_bound(
      records_.begin(), records_.end(), name,
      [](const ZipRecord& record, std::string_view wanted) { return record.name < wanted; });
  return found != records_.end() && found->name == name ? &*found : nullptr;
}

}  // namespace rcap::pth
