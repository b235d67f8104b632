#include "data/sets/mat_file.hpp"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <zlib.h>

#include "io/payload_reader.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t MostFileBytes = 1 << 24;
constexpr std::size_t MostUnpackedBytes = 1 << 24;
constexpr std::size_t HeaderBytes = 128;
constexpr std::size_t PieceBytes = 1 << 18;

// Kinds of elements.
constexpr std::uint32_t Int8 = 1, UInt8 = 2, Int16 = 3, UInt16 = 4, Int32 = 5, UInt32 = 6,
                        Double = 9, Matrix = 14, Compressed = 15, Utf8 = 16;
// Classes of arrays.
constexpr std::uint32_t StructClass = 2, CharClass = 4;

struct Element {
  std::uint32_t kind = 0;
  std::size_t offset = 0;  ///< of its data
  std::span<const std::uint8_t> data;
};

template <class T>
T load(std::span<const std::uint8_t> bytes, std::size_t place = 0) {
  T value{};
  std::memcpy(&value, bytes.data() + place * sizeof(T), sizeof(T));
  return value;
}

/// Iterates over elements that follow one another.
class Elements {
 public:
  /// @param offset  of the first byte, for messages
  Elements(const MatFile& file, std::span<const std::uint8_t> bytes, std::size_t offset)
      : file_(file), bytes_(bytes), offset_(offset) {}

  [[nodiscard]] bool done() const noexcept { return position_ == bytes_.size(); }

  Element next(std::string_view what) {
    if (bytes_.size() - position_ < 8) refuse(what, "the data end before it");
    const auto word = load<std::uint32_t>(bytes_.subspan(position_));
    // Up to four bytes of data may be in the tag itself.
    const bool is_small = word >> 16U != 0;
    const std::size_t size =
        is_small ? word >> 16U : load<std::uint32_t>(bytes_.subspan(position_), 1);
    const std::size_t begin = position_ + (is_small ? 4 : 8);
    if (size > (is_small ? 4 : bytes_.size() - begin)) {
      refuse(what, "it claims {} bytes, {} are left", size, bytes_.size() - begin);
    }
    const Element element{is_small ? word & 0xFFFFU : word, offset_ + begin,
                          bytes_.subspan(begin, size)};
    // Data are padded to multiples of eight bytes, except packed ones.
    const bool is_padded = !is_small && element.kind != Compressed;
    const std::size_t end = is_small ? position_ + 8 : begin + size;
    position_ = std::min(is_padded ? (end + 7) / 8 * 8 : end, bytes_.size());
    return element;
  }

  Element next(std::string_view what, std::initializer_list<std::uint32_t> kinds) {
    const std::size_t begin = position_;
    const Element element = next(what);
    if (std::find(kinds.begin(), kinds.end(), element.kind) == kinds.end()) {
      position_ = begin;
      refuse(what, "its kind is {}", element.kind);
    }
    return element;
  }

  [[nodiscard]] std::span<const std::uint8_t> rest() const { return bytes_.subspan(position_); }
  [[nodiscard]] std::size_t rest_offset() const noexcept { return offset_ + position_; }

 private:
  template <class... T>
  [[noreturn]] void refuse(std::string_view what, fmt::format_string<T...> why,
                           T&&... values) const {
    file_.refuse(offset_ + position_, "{} cannot be read: {}", what,
                 fmt::format(why, std::forward<T>(values)...));
  }

  const MatFile& file_;
  std::span<const std::uint8_t> bytes_;
  std::size_t offset_;
  std::size_t position_ = 0;
};

/// Unpacks a zlib stream; empty if it is damaged, truncated or too long.
std::optional<std::vector<std::uint8_t>> unpack(std::span<const std::uint8_t> packed,
                                                std::size_t most_bytes) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, int (*)(z_stream*)> ended(&stream, inflateEnd);
  stream.next_in = const_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  std::vector<std::uint8_t> bytes;
  for (int result = Z_OK; result != Z_STREAM_END;) {
    const std::size_t done = bytes.size();
    if (done >= most_bytes) return std::nullopt;
    bytes.resize(std::min(done + PieceBytes, most_bytes));
    stream.next_out = bytes.data() + done;
    stream.avail_out = static_cast<uInt>(bytes.size() - done);
    result = inflate(&stream, Z_NO_FLUSH);
    bytes.resize(bytes.size() - stream.avail_out);
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (result != Z_OK && result != Z_STREAM_END) return std::nullopt;
  }
  return bytes;
}

double load_number(const Element& element) {
  switch (element.kind) {
    case Int8:
      return load<std::int8_t>(element.data);
    case UInt8:
      return load<std::uint8_t>(element.data);
    case Int16:
      return load<std::int16_t>(element.data);
    case UInt16:
      return load<std::uint16_t>(element.data);
    case Int32:
      return load<std::int32_t>(element.data);
    case UInt32:
      return load<std::uint32_t>(element.data);
    default:
      return load<double>(element.data);
  }
}

std::size_t bytes_of_kind(std::uint32_t kind) {
  if (kind == Int8 || kind == UInt8 || kind == Utf8) return 1;
  if (kind == Int16 || kind == UInt16) return 2;
  return kind == Double ? 8 : 4;
}

}  // namespace

MatFile::MatFile(const fs::path& path) : path_(path) {
  const std::vector<std::uint8_t> bytes = read_file(path, MostFileBytes);
  if (bytes.size() < HeaderBytes || bytes[126] != 'I' || bytes[127] != 'M' || bytes[125] != 1) {
    refuse(0, "this is not a little-endian MAT file of MATLAB 5 to 7");
  }
  std::size_t room = MostUnpackedBytes;
  Elements elements(*this, std::span(bytes).subspan(HeaderBytes), HeaderBytes);
  while (!elements.done()) {
    const Element element = elements.next("a variable", {Matrix, Compressed});
    if (element.kind == Matrix) {
      variables_.emplace_back(element.data.begin(), element.data.end());
      continue;
    }
    const auto unpacked = unpack(element.data, room);
    if (!unpacked) refuse(element.offset, "the packed data are damaged, truncated or too long");
    room -= unpacked->size();
    const Element matrix = Elements(*this, *unpacked, 0).next("a packed variable", {Matrix});
    variables_.emplace_back(matrix.data.begin(), matrix.data.end());
  }
}

MatStruct MatFile::find_struct(std::string_view name) const {
  for (const std::vector<std::uint8_t>& variable : variables_) {
    const MatMatrix matrix = read_matrix(variable, 0);
    if (matrix.name != name) continue;
    if (matrix.array_class != StructClass) {
      refuse(0, "the variable {} is not an array of structures", name);
    }
    return read_struct(matrix);
  }
  refuse(HeaderBytes, "none of the {} variables is called {}", variables_.size(), name);
}

MatMatrix MatFile::read_matrix(std::span<const std::uint8_t> bytes, std::size_t offset) const {
  MatMatrix matrix;
  matrix.offset = offset;
  if (bytes.empty()) return matrix;  // an empty field is written this way
  Elements elements(*this, bytes, offset);
  const Element flags = elements.next("the flags of an array", {UInt32});
  if (flags.data.size() != 8) refuse(flags.offset, "the flags of an array are not 8 bytes");
  matrix.array_class = load<std::uint32_t>(flags.data) & 0xFFU;
  (void)elements.next("the dimensions of an array", {Int32});
  const Element name = elements.next("the name of an array", {Int8});
  matrix.name.assign(name.data.begin(), name.data.end());
  matrix.rest = elements.rest();
  matrix.offset = elements.rest_offset();
  return matrix;
}

MatStruct MatFile::read_struct(const MatMatrix& matrix) const {
  MatStruct table;
  table.offset = matrix.offset;
  Elements elements(*this, matrix.rest, matrix.offset);
  const Element length = elements.next("the length of field names", {Int32});
  const std::int32_t name_bytes = length.data.size() == 4 ? load<std::int32_t>(length.data) : 0;
  const Element names = elements.next("the names of the fields", {Int8});
  if (name_bytes < 1 || names.data.empty() ||
      names.data.size() % static_cast<std::size_t>(name_bytes) != 0) {
    refuse(names.offset, "{} bytes of field names of {} bytes each", names.data.size(), name_bytes);
  }
  for (std::size_t i = 0; i < names.data.size(); i += static_cast<std::size_t>(name_bytes)) {
    const auto name = names.data.subspan(i, static_cast<std::size_t>(name_bytes));
    table.fields.emplace_back(name.begin(), std::find(name.begin(), name.end(), 0));
  }
  while (!elements.done()) {
    const Element cell = elements.next("a field", {Matrix});
    table.cells.push_back(read_matrix(cell.data, cell.offset));
  }
  if (table.cells.empty() || table.cells.size() % table.fields.size() != 0) {
    refuse(table.offset, "{} cells do not make whole rows of {} fields", table.cells.size(),
           table.fields.size());
  }
  return table;
}

double MatFile::number(const MatMatrix& matrix) const {
  const Element element =
      Elements(*this, matrix.rest, matrix.offset)
          .next("a number", {Int8, UInt8, Int16, UInt16, Int32, UInt32, Double});
  if (element.data.size() != bytes_of_kind(element.kind)) {
    refuse(element.offset, "{} bytes where one number is expected", element.data.size());
  }
  return load_number(element);
}

std::string MatFile::text(const MatMatrix& matrix) const {
  if (matrix.array_class != CharClass) refuse(matrix.offset, "this array does not hold characters");
  const Element element =
      Elements(*this, matrix.rest, matrix.offset).next("characters", {Int8, UInt8, UInt16, Utf8});
  const std::size_t width = bytes_of_kind(element.kind);
  std::string text;
  for (std::size_t i = 0; i < element.data.size() / width; ++i) {
    const std::uint32_t code = width == 1 ? element.data[i] : load<std::uint16_t>(element.data, i);
    text.push_back(code < 128 ? static_cast<char>(code) : '?');
  }
  return text;
}

}  // namespace rcap
