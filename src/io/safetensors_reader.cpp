#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file_mapping.hpp"
#include "base/quoting.hpp"
#include "io/safetensors.hpp"
#include "io/safetensors_format.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using namespace safetensors;

std::string type_names() {
  std::string names;
  for (const TypeRow& row : Types)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  return names;
}

std::string where(const fs::path& path) {
  return fmt::format("SafetensorsFile \"{}\"", path.string());
}

template <class... T>
[[noreturn]] void refuse(const fs::path& path, fmt::format_string<T...> what, T&&... values) {
  throw BadFile(fmt::format("{}: {}", where(path), fmt::format(what, std::forward<T>(values)...)));
}

/// @param position  counts from 1, as nlohmann's parser does
[[noreturn]] void refuse_json(const fs::path& path, std::size_t position) {
  refuse(path, "the header is not JSON at its byte {}", position);
}

/// A tensor as the header describes it.
struct Entry {
  TensorView tensor;  ///< without its data
  std::array<std::uint64_t, 2> offsets{};
  std::size_t offset_count = 0;
  bool has_type = false;
  bool has_shape = false;
  bool has_offsets = false;
};

/// Receives the header from nlohmann's parser event by event. The DOM would silently keep the last
/// of two equal names; here every value has one place where it is allowed, so a header nested
/// deeper than the format is refused at the first bracket too many.
class HeaderEvents {
 public:
  explicit HeaderEvents(const fs::path& path) : path_(path) {}

  std::vector<Entry> entries;
  std::map<std::string, std::string> metadata;

  bool start_object(std::size_t) {
    switch (place_) {
      case Place::Start:
        return go(Place::Top);
      case Place::Tensor:
        return go(Place::Field);
      case Place::Metadata:
        return go(Place::MetadataKeys);
      default:
        unexpected("an object");
    }
  }

  bool key(std::string& name) {
    if (place_ == Place::Top) return take_name(std::move(name));
    if (place_ == Place::Field) return take_field(name);
    metadata_key_ = std::move(name);
    if (metadata.contains(metadata_key_)) {
      refuse(path_, "__metadata__ holds {} twice", in_quotes(metadata_key_));
    }
    return go(Place::MetadataText);
  }

  bool end_object() {
    if (place_ == Place::Field) check_complete();
    return go(place_ == Place::Top ? Place::End : Place::Top);
  }

  bool start_array(std::size_t) {
    if (place_ == Place::Shape) return go(Place::ShapeNumbers);
    if (place_ == Place::Offsets) return go(Place::OffsetNumbers);
    unexpected("an array");
  }

  bool end_array() {
    if (place_ == Place::OffsetNumbers && entries.back().offset_count != 2) refuse_offset_count();
    return go(Place::Field);
  }

  bool string(std::string& text) {
    if (place_ == Place::Type) return take_type(text);
    if (place_ != Place::MetadataText) unexpected("a string");
    metadata.emplace(std::move(metadata_key_), std::move(text));
    return go(Place::MetadataKeys);
  }

  bool number_unsigned(std::uint64_t value) {
    Entry* const entry = entries.empty() ? nullptr : &entries.back();
    if (place_ == Place::ShapeNumbers && value <= LargestDimension) {
      entry->tensor.shape.push_back(static_cast<std::int64_t>(value));
    } else if (place_ == Place::OffsetNumbers) {
      if (entry->offset_count == 2) refuse_offset_count();
      entry->offsets[entry->offset_count++] = value;
    } else {
      unexpected(fmt::format("the number {}", value));
    }
    return true;
  }

  bool number_integer(std::int64_t value) { unexpected(fmt::format("the number {}", value)); }
  bool number_float(double value, const std::string&) {
    unexpected(fmt::format("the number {}", value));
  }
  bool boolean(bool value) { unexpected(value ? "true" : "false"); }
  bool null() { unexpected("null"); }
  bool binary(json::binary_t&) { unexpected("binary data"); }

  bool parse_error(std::size_t position, const std::string&, const json::exception&) {
    refuse_json(path_, position);
  }

 private:
  /// What comes next.
  enum class Place {
    Start,          ///< the header's object
    Top,            ///< a tensor's name, __metadata__, or the end of the header
    Tensor,         ///< the object of a tensor
    Field,          ///< dtype, shape, data_offsets, or the end of the tensor
    Type,           ///< the string of dtype
    Shape,          ///< the array of shape
    ShapeNumbers,   ///< its next number or its end
    Offsets,        ///< the array of data_offsets
    OffsetNumbers,  ///< its next number or its end
    Metadata,       ///< the object of __metadata__
    MetadataKeys,   ///< its next key or its end
    MetadataText,   ///< the string of that key
    End
  };

  bool go(Place place) {
    place_ = place;
    return true;
  }

  bool take_name(std::string&& name) {
    if (name == MetadataKey) {
      if (std::exchange(has_metadata_, true)) refuse(path_, "__metadata__ appears twice");
      return go(Place::Metadata);
    }
    entries.emplace_back().tensor.name = std::move(name);
    return go(Place::Tensor);
  }

  bool take_field(const std::string& name) {
    Entry& entry = entries.back();
    const auto once = [&](bool& has, Place next) {
      if (std::exchange(has, true)) refuse_tensor("has {} twice", name);
      return go(next);
    };
    if (name == "dtype") return once(entry.has_type, Place::Type);
    if (name == "shape") return once(entry.has_shape, Place::Shape);
    if (name == "data_offsets") return once(entry.has_offsets, Place::Offsets);
    refuse_tensor("has the unknown field {}; the fields are dtype, shape, data_offsets",
                  in_quotes(name));
  }

  bool take_type(const std::string& text) {
    const auto row = std::find_if(Types.begin(), Types.end(),
                                  [&](const TypeRow& known) { return known.name == text; });
    if (row == Types.end()) {
      refuse_tensor("has the dtype {}; rcap reads {}", in_quotes(text), type_names());
    }
    entries.back().tensor.type = row->type;
    return go(Place::Field);
  }

  void check_complete() {
    const Entry& entry = entries.back();
    const std::string_view missing = !entry.has_type      ? "dtype"
                                     : !entry.has_shape   ? "shape"
                                     : !entry.has_offsets ? "data_offsets"
                                                          : "";
    if (!missing.empty()) refuse_tensor("has no {}", missing);
  }

  template <class... T>
  [[noreturn]] void refuse_tensor(fmt::format_string<T...> what, T&&... values) const {
    refuse(path_, "tensor {} {}", in_quotes(entries.back().tensor.name),
           fmt::format(what, std::forward<T>(values)...));
  }

  [[noreturn]] void refuse_offset_count() const {
    refuse_tensor("has data_offsets that are not two numbers, begin and end");
  }

  [[noreturn]] void unexpected(std::string_view what) const {
    switch (place_) {
      case Place::Tensor:
        refuse_tensor("is {}; it must be an object", what);
      case Place::Type:
        refuse_tensor("has {} as dtype; it must be a string", what);
      case Place::Shape:
        refuse_tensor("has {} as shape; it must be an array", what);
      case Place::ShapeNumbers:
        refuse_tensor("has {} in its shape; lengths are whole numbers from 0 to {}", what,
                      LargestDimension);
      case Place::Offsets:
        refuse_tensor("has {} as data_offsets; it must be an array", what);
      case Place::OffsetNumbers:
        refuse_tensor("has {} in data_offsets; offsets are whole numbers >= 0", what);
      case Place::Metadata:
        refuse(path_, "__metadata__ is {}; it must be an object of strings", what);
      case Place::MetadataText:
        refuse(path_, "__metadata__ {} is {}; it must be a string", in_quotes(metadata_key_), what);
      default:
        // The parser gives keys and ends in the other places, and the header starts with '{'.
        throw InternalError(fmt::format("SafetensorsFile: {} where no value is allowed", what));
    }
  }

  const fs::path& path_;
  Place place_ = Place::Start;
  bool has_metadata_ = false;
  std::string metadata_key_;
};

/// The text of the header, checked to be within the file.
std::string_view find_header(const fs::path& path, std::span<const std::byte> file) {
  std::uint64_t length = 0;
  if (file.size() < LengthBytes) {
    refuse(path,
           "has {} bytes; a safetensors file begins with 8 that hold the length of its header",
           file.size());
  }
  std::memcpy(&length, file.data(), LengthBytes);
  if (length > LargestHeader) {
    refuse(path,
           "claims a header of {} bytes, more than the {} the format allows; it is not a "
           "safetensors file",
           length, LargestHeader);
  }
  if (length > file.size() - LengthBytes) {
    refuse(path, "claims a header of {} bytes, but only {} follow; it is cut short", length,
           file.size() - LengthBytes);
  }
  const auto bytes = file.subspan(LengthBytes, static_cast<std::size_t>(length));
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!header.starts_with('{')) {
    refuse(path, "the header does not start with '{{'; it is not a safetensors file");
  }
  // The parser takes a zero byte as the end of the text and would ignore the rest.
  if (const auto zero = header.find('\0'); zero != header.npos) refuse_json(path, zero + 1);
  return header;
}

void check_names(const fs::path& path, const std::vector<Entry>& entries) {
  std::vector<std::string_view> names;
  names.reserve(entries.size());
  for (const Entry& entry : entries) names.push_back(entry.tensor.name);
  if (const auto repeated = first_repeated(std::move(names))) {
    refuse(path, "tensor {} appears twice", in_quotes(*repeated));
  }
}

void check_size(const fs::path& path, const Entry& entry, std::uint64_t data_bytes) {
  const TensorView& tensor = entry.tensor;
  const auto [begin, end] = entry.offsets;
  if (begin > end) {
    refuse(path, "tensor {} ends at {}, before its start at {}", in_quotes(tensor.name), end,
           begin);
  }
  if (end > data_bytes) {
    refuse(path, "tensor {} ends at byte {} of the data, but there are {}; the file is cut short",
           in_quotes(tensor.name), end, data_bytes);
  }
  const auto bytes = byte_count(tensor.shape, tensor.type);
  if (!bytes) {
    refuse(path, "tensor {} has a shape with more elements than can be counted",
           in_quotes(tensor.name));
  }
  if (*bytes != end - begin) {
    refuse(path, "tensor {} has {} bytes of data; its shape needs {} as {}", in_quotes(tensor.name),
           end - begin, *bytes, row_of(tensor.type).name);
  }
}

/// Sorts by offset and checks that every byte of the data belongs to one tensor.
void check_layout(const fs::path& path, std::vector<Entry>& entries, std::uint64_t data_bytes) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.offsets, a.tensor.name) < std::tie(b.offsets, b.tensor.name);
  });
  std::uint64_t covered = 0;
  for (const Entry& entry : entries) {
    check_size(path, entry, data_bytes);
    if (entry.offsets[0] != covered) {
      refuse(path,
             "tensor {} begins at byte {} of the data, not at {}; tensors follow each other "
             "without holes or overlap",
             in_quotes(entry.tensor.name), entry.offsets[0], covered);
    }
    covered = entry.offsets[1];
  }
  if (covered != data_bytes) {
    refuse(path, "{} bytes follow the last tensor; they must belong to one", data_bytes - covered);
  }
}

}  // namespace

SafetensorsFile::SafetensorsFile(const fs::path& path)
    : file_(std::make_unique<FileMapping>(path, where(path))) {
  const std::string_view header = find_header(path, file_->bytes());
  const auto data = file_->bytes().subspan(LengthBytes + header.size());

  HeaderEvents events(path);
  json::sax_parse(header.begin(), header.end(), &events);
  check_names(path, events.entries);
  check_layout(path, events.entries, data.size());

  tensors_.reserve(events.entries.size());
  for (Entry& entry : events.entries) {
    const auto [begin, end] = entry.offsets;
    TensorView& tensor = tensors_.emplace_back(std::move(entry.tensor));
    tensor.data = data.subspan(begin, end - begin);
    if (const auto bad = first_bad_truth_value(tensor); bad < tensor.data.size()) {
      refuse(path, "tensor {} is BOOL, but its byte {} is {}; truth values are 0 and 1",
             in_quotes(tensor.name), bad, std::to_integer<int>(tensor.data[bad]));
    }
  }
  metadata_ = std::move(events.metadata);
}

SafetensorsFile::~SafetensorsFile() = default;

const TensorView* SafetensorsFile::find(std::string_view name) const noexcept {
  return safetensors::find_tensor(tensors_, name);
}

}  // namespace rcap
