#include "io/pth/pth_container.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/quoting.hpp"
#include "io/pth/pickle_machine.hpp"
#include "io/pth/pth_bytes.hpp"
#include "io/pth/zip_archive.hpp"
#include "io/safetensors_format.hpp"

namespace rcap::pth {
namespace {

namespace fs = std::filesystem;
using namespace std::string_view_literals;

constexpr std::string_view ZipMagic = "PK\x03\x04";
/// Protocol 2, and the number 0x1950a86a20f9469cfc6c of ten bytes.
constexpr std::string_view OldMagic = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."sv;
constexpr std::int64_t OldVersion = 1001;
constexpr std::string_view TarMagic = "ustar";
constexpr std::size_t TarMagicOffset = 257;

bool has_text(std::span<const std::byte> file, std::string_view text, std::size_t offset = 0) {
  return file.size() >= offset + text.size() &&
         std::memcmp(file.data() + offset, text.data(), text.size()) == 0;
}

/// The bytes of a storage, which must be as many as the pickle says.
std::span<const std::byte> check_size(const fs::path& path, const pickle::Storage& storage,
                                      std::span<const std::byte> data) {
  const std::size_t width = bytes_of(storage.type);
  if (data.size() / width != storage.element_count) {
    refuse(path, "storage {} has {} bytes; the pickle says {} elements of {}",
           in_quotes(storage.key), data.size(), storage.element_count, width);
  }
  return data.first(data.size() / width * width);
}

// ---- the zip archive

/// The name of the one folder that holds everything, with its slash.
std::string_view find_folder(const fs::path& path, const ZipArchive& archive) {
  constexpr std::string_view Pickle = "data.pkl";
  std::string_view folder;
  for (const ZipRecord& record : archive.records()) {
    const std::size_t slash = record.name.find('/');
    if (slash == record.name.npos || record.name.substr(slash + 1) != Pickle) continue;
    if (!folder.empty()) refuse(path, "holds data.pkl in two folders; torch.save did not write it");
    folder = record.name.substr(0, slash + 1);
  }
  if (folder.empty()) {
    refuse(path,
           "is a zip archive without data.pkl in a folder, so torch.save did not write it; give a "
           "file written by torch.save(model.state_dict(), ...)");
  }
  return folder;
}

class ArchiveReader {
 public:
  ArchiveReader(const fs::path& path, std::span<const std::byte> file)
      : path_(path), archive_(path, file), folder_(find_folder(path, archive_)) {}

  Container read() {
    check_kind();
    Container container;
    ByteReader input(path_, "data.pkl", find("data.pkl")->data);
    container.root = pickle::Machine(input, container.objects).run();
    if (input.left() > 0) {
      refuse(path_, "{} bytes follow the pickle in data.pkl; it is damaged", input.left());
    }
    for (const pickle::Storage& storage : container.objects.storages) {
      container.storages.push_back(find_storage(storage));
    }
    return container;
  }

 private:
  [[nodiscard]] const ZipRecord* find(std::string_view name) const {
    const ZipRecord* const record = archive_.find(fmt::format("{}{}", folder_, name));
    if (record != nullptr && record->method != 0) {
      refuse(path_,
             "record {} is compressed (method {}), which PyTorch does not do; save it again with "
             "torch.save",
             in_quotes(record->name), record->method);
    }
    return record;
  }

  void check_kind() const {
    if (find("constants.pkl") != nullptr) {
      refuse(path_,
             "is a TorchScript archive, which holds a program; in Python, save the weights alone: "
             "torch.save(torch.jit.load(file).state_dict(), ...)");
    }
    // Files from before PyTorch 2.1 have no such record.
    const ZipRecord* const order = find("byteorder");
    if (order != nullptr && !has_text(order->data, "little")) {
      refuse(path_,
             "record byteorder says {}; only \"little\" is read; load it in Python and save it on "
             "a little-endian machine",
             in_quotes({reinterpret_cast<const char*>(order->data.data()), order->data.size()}));
    }
  }

  [[nodiscard]] std::span<const std::byte> find_storage(const pickle::Storage& storage) const {
    const ZipRecord* const record = find(fmt::format("data/{}", storage.key));
    if (record == nullptr) {
      refuse(path_, "there is no record for storage {}; the file is damaged",
             in_quotes(storage.key));
    }
    return check_size(path_, storage, record->data);
  }

  const fs::path& path_;
  ZipArchive archive_;
  std::string folder_;
};

// ---- the format before PyTorch 1.6

class OldReader {
 public:
  OldReader(const fs::path& path, std::span<const std::byte> file)
      : path_(path), input_(path, "the file", file) {}

  Container read() {
    input_.skip(OldMagic.size(), "the magic number");
    check_version();
    check_byte_order();
    Container container;
    container.root = pickle::Machine(input_, container.objects).run();
    read_storages(container);
    if (input_.left() > 0) {
      refuse(path_, "{} bytes follow the last storage; the file is damaged", input_.left());
    }
    return container;
  }

 private:
  [[nodiscard]] pickle::Value read_pickle(pickle::Objects& objects) {
    return pickle::Machine(input_, objects).run();
  }

  void check_version() {
    pickle::Objects none;
    const pickle::Value version = read_pickle(none);
    if (version.kind != pickle::Kind::Integer || version.number != OldVersion) {
      refuse(path_,
             "has the format from before PyTorch 1.6, but not its version {}; load it in Python "
             "and save it again",
             OldVersion);
    }
  }

  void check_byte_order() {
    pickle::Objects objects;
    const pickle::Value system = read_pickle(objects);
    const auto says_little = [](const std::pair<pickle::Value, pickle::Value>& item) {
      return item.first.is_text("little_endian") && item.second.kind == pickle::Kind::Truth &&
             item.second.number == 1;
    };
    if (system.kind == pickle::Kind::Dictionary) {
      const pickle::Dictionary& items = objects.dictionaries[system.index()];
      if (std::any_of(items.begin(), items.end(), says_little)) return;
    }
    refuse(path_,
           "is not marked as little-endian, and nothing else is read; load it in Python and save "
           "it on a little-endian machine");
  }

  /// A list of the keys; then the storages in this order, each with its number of elements.
  void read_storages(Container& container) {
    pickle::Objects objects;
    const pickle::Value keys = read_pickle(objects);
    if (keys.kind != pickle::Kind::List)
      refuse(path_, "has no list of its storages; it is damaged");
    const auto& known = container.objects;
    container.storages.resize(known.storages.size());
    std::vector<bool> seen(known.storages.size());
    for (const pickle::Value& key : objects.sequences[keys.index()]) {
      const auto found = key.kind == pickle::Kind::Text ? known.storage_of_key.find(key.text)
                                                        : known.storage_of_key.end();
      if (found == known.storage_of_key.end() || seen[found->second]) {
        refuse(path_, "lists storage {}, which no tensor uses or which appears twice",
               in_quotes(key.text));
      }
      seen[found->second] = true;
      container.storages[found->second] = read_storage(known.storages[found->second]);
    }
    if (const auto none = std::find(seen.begin(), seen.end(), false); none != seen.end()) {
      const auto index = static_cast<std::size_t>(none - seen.begin());
      refuse(path_, "holds no data for storage {}; the file is damaged",
             in_quotes(known.storages[index].key));
    }
  }

  [[nodiscard]] std::span<const std::byte> read_storage(const pickle::Storage& storage) {
    const auto count = input_.take_number<std::uint64_t>("a number of elements");
    if (count != storage.element_count) {
      refuse(path_, "storage {} has {} elements at {}; the pickle says {}", in_quotes(storage.key),
             count, input_.place(input_.position() - 8), storage.element_count);
    }
    const std::size_t width = bytes_of(storage.type);
    if (count > input_.left() / width) {
      refuse(path_,
             "storage {} has {} elements of {} bytes, but {} bytes are left; the file is cut short",
             in_quotes(storage.key), count, width, input_.left());
    }
    return input_.take(count * width, "a storage");
  }

  const fs::path& path_;
  ByteReader input_;
};

}  // namespace

bool begins_like_pth(std::span<const std::byte> file) {
  // A safetensors header may have a length that begins with these bytes; its text follows.
  if (has_text(file, "{", 8)) return false;
  return has_text(file, ZipMagic) || has_text(file, OldMagic.substr(0, 2)) ||
         has_text(file, TarMagic, TarMagicOffset);
}

Container read_container(const fs::path& path, std::span<const std::byte> file) {
  if (has_text(file, ZipMagic)) return ArchiveReader(path, file).read();
  if (has_text(file, OldMagic)) return OldReader(path, file).read();
  if (has_text(file, TarMagic, TarMagicOffset)) {
    refuse(path,
           "is a tar archive, as PyTorch wrote before version 0.2; load it in Python (torch.load) "
           "and save it again (torch.save), or fetch a newer file of the same weights");
  }
  if (has_text(file, OldMagic.substr(0, 2))) {
    refuse(path,
           "is a pickle, but not one that torch.save wrote: its first number is different; save "
           "the state_dict with torch.save");
  }
  refuse(path,
         "was not written by torch.save: it begins neither like a zip archive nor like a pickle");
}

}  // namespace rcap::pth
