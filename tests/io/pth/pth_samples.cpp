#include "io/pth/pth_samples.hpp"

#include <zlib.h>

namespace rcap::pth_samples {
namespace {

using namespace std::string_literals;

template <class Number>
std::string number(Number value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string concatenate(const std::vector<std::string>& parts) {
  std::string whole;
  for (const std::string& part : parts) whole += part;
  return whole;
}

/// Items for SETITEMS.
std::string pairs(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string code = "(";
  for (const auto& [key, value] : items) code += text(key) + value;
  return code + "u";
}

std::uint32_t checksum(const std::string& data) {
  return static_cast<std::uint32_t>(
      ::crc32(0, reinterpret_cast<const Bytef*>(data.data()), static_cast<uInt>(data.size())));
}

/// The fields that the header of a record and its entry in the list share.
std::string shared_fields(const Record& record, bool zip64, std::size_t extra_bytes) {
  const auto size = zip64 ? ~std::uint32_t{0} : static_cast<std::uint32_t>(record.data.size());
  return number(std::uint16_t{45}) + number(std::uint16_t{0}) + number(std::uint16_t{0}) +
         number(std::uint32_t{0}) + number(checksum(record.data)) + number(size) + number(size) +
         number(static_cast<std::uint16_t>(record.name.size())) +
         number(static_cast<std::uint16_t>(extra_bytes));
}

std::string sizes_64(const Record& record, bool zip64, const std::string& offset) {
  if (!zip64) return {};
  const auto size = static_cast<std::uint64_t>(record.data.size());
  const std::string content = number(size) + number(size) + offset;
  return number(std::uint16_t{1}) + number(static_cast<std::uint16_t>(content.size())) + content;
}

std::string end_64(std::uint64_t count, std::uint64_t bytes, std::uint64_t offset) {
  return "PK\x06\x06"s + number(std::uint64_t{44}) + number(std::uint32_t{0x002d002d}) +
         number(std::uint64_t{0}) + number(count) + number(count) + number(bytes) + number(offset) +
         "PK\x06\x07"s + number(std::uint32_t{0}) + number(offset + bytes) +
         number(std::uint32_t{1});
}

const std::vector<float> Weights = {0, 1, 2, 3, 4, 5};

std::string small_pickle(bool old_format) {
  const std::string weights = storage("0", "Float", 6, old_format);
  return pickle_of(ordered({{"weight", tensor(weights, 0, {2, 3}, {3, 1})},
                            {"turned", tensor(weights, 0, {3, 2}, {1, 3})},
                            {"flags", tensor(storage("1", "Bool", 3, old_format), 0, {3}, {1})}}));
}

}  // namespace

std::string text(std::string_view value) {
  return "X" + number(static_cast<std::uint32_t>(value.size())) + std::string(value);
}

std::string integer(std::int64_t value) { return "\x8a\x08" + number(value); }

std::string global(std::string_view module, std::string_view name) {
  return "c" + std::string(module) + "\n" + std::string(name) + "\n";
}

std::string tuple(const std::vector<std::string>& values) {
  return "(" + concatenate(values) + "t";
}

std::string integers(const std::vector<std::int64_t>& values) {
  std::vector<std::string> parts;
  for (const std::int64_t value : values) parts.push_back(integer(value));
  return tuple(parts);
}

std::string dictionary(const std::vector<std::pair<std::string, std::string>>& items) {
  return "}" + pairs(items);
}

std::string ordered(const std::vector<std::pair<std::string, std::string>>& items) {
  return global("collections", "OrderedDict") + ")R" + pairs(items) +
         dictionary({{"_metadata", "}"}}) + "b";
}

std::string storage(std::string_view key, std::string_view type, std::int64_t count,
                    bool old_format) {
  std::vector<std::string> parts = {text("storage"), global("torch", std::string(type) + "Storage"),
                                    text(key), text("cpu"), integer(count)};
  if (old_format) parts.emplace_back("N");
  return tuple(parts) + "Q";
}

std::string tensor(const std::string& storage, std::int64_t offset,
                   const std::vector<std::int64_t>& sizes,
                   const std::vector<std::int64_t>& strides) {
  return global("torch._utils", "_rebuild_tensor_v2") +
         tuple({storage, integer(offset), integers(sizes), integers(strides), "\x89",
                global("collections", "OrderedDict") + ")R"}) +
         "R";
}

std::string pickle_of(const std::string& value) { return "\x80\x02" + value + "."; }

std::string zip(const std::vector<Record>& records, bool zip64) {
  std::string file, list;
  for (const Record& record : records) {
    const auto offset = static_cast<std::uint64_t>(file.size());
    const std::string extra = sizes_64(record, zip64, "");
    file += "PK\x03\x04" + shared_fields(record, zip64, extra.size()) + record.name + extra +
            record.data;
    const std::string entry_extra = sizes_64(record, zip64, number(offset));
    list += "PK\x01\x02" + number(std::uint16_t{45}) +
            shared_fields(record, zip64, entry_extra.size()) + std::string(10, '\0') +
            number(zip64 ? ~std::uint32_t{0} : static_cast<std::uint32_t>(offset)) + record.name +
            entry_extra;
  }
  const std::size_t start = file.size();
  file += list;
  if (zip64) file += end_64(records.size(), list.size(), start);
  const auto count =
      number(zip64 ? std::uint16_t{0xFFFF} : static_cast<std::uint16_t>(records.size()));
  return file + "PK\x05\x06" + std::string(4, '\0') + count + count +
         number(static_cast<std::uint32_t>(zip64 ? ~std::size_t{0} : list.size())) +
         number(static_cast<std::uint32_t>(zip64 ? ~std::size_t{0} : start)) + std::string(2, '\0');
}

std::string archive(const std::string& pickle, const std::vector<Record>& storages, bool zip64) {
  std::vector<Record> records = {{"archive/data.pkl", pickle}, {"archive/byteorder", "little"}};
  for (const Record& storage : storages) {
    records.push_back({"archive/data/" + storage.name, storage.data});
  }
  records.push_back({"archive/version", "3\n"});
  return zip(records, zip64);
}

std::string old_file(const std::string& pickle, const std::vector<OldStorage>& storages) {
  std::string keys, data;
  for (const OldStorage& storage : storages) {
    keys += text(storage.key);
    data += number(storage.count) + storage.data;
  }
  return "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19." + pickle_of(integer(1001)) +
         pickle_of(dictionary({{"little_endian", "\x88"}})) + pickle +
         pickle_of("](" + keys + "e") + data;
}

std::string small_archive(bool zip64) {
  return archive(small_pickle(false),
                 {{"0", bytes_of_numbers(Weights)}, {"1", std::string("\1\0\1", 3)}}, zip64);
}

std::string small_old_file() {
  return old_file(small_pickle(true),
                  {{"0", 6, bytes_of_numbers(Weights)}, {"1", 3, std::string("\1\0\1", 3)}});
}

}  // namespace rcap::pth_samples
