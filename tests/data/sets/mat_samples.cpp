#include "data/sets/mat_samples.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include <zlib.h>

namespace rcap {
namespace {

constexpr std::uint32_t Int8 = 1, UInt8 = 2, UInt16 = 4, Int32 = 5, UInt32 = 6, Double = 9,
                        Matrix = 14, Compressed = 15;
constexpr std::uint32_t StructClass = 2, CharClass = 4, DoubleClass = 6;

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

void append(Bytes& all, const Bytes& more) { all.insert(all.end(), more.begin(), more.end()); }

/// Up to four bytes stand in the tag, as MATLAB writes them.
Bytes element(std::uint32_t kind, const Bytes& data) {
  const auto size = static_cast<std::uint32_t>(data.size());
  const bool is_small = size >= 1 && size <= 4;
  Bytes bytes = is_small ? bytes_of<std::uint32_t>({size << 16U | kind})
                         : bytes_of<std::uint32_t>({kind, size});
  append(bytes, data);
  if (kind != Compressed) bytes.resize((bytes.size() + 7) / 8 * 8);
  return bytes;
}

Bytes letters(std::string_view text) { return {text.begin(), text.end()}; }

Bytes matrix(std::uint32_t array_class, std::vector<std::int32_t> dimensions, std::string_view name,
             const Bytes& contents) {
  Bytes bytes = element(UInt32, bytes_of<std::uint32_t>({array_class, 0}));
  append(bytes, element(Int32, bytes_of(dimensions)));
  append(bytes, element(Int8, letters(name)));
  append(bytes, contents);
  return element(Matrix, bytes);
}

/// MATLAB stores a number in the smallest type that holds it.
Bytes number(int value) {
  const Bytes data =
      value < 256 ? element(UInt8, {static_cast<std::uint8_t>(value)})
                  : element(UInt16, bytes_of<std::uint16_t>({static_cast<std::uint16_t>(value)}));
  return matrix(DoubleClass, {1, 1}, "", data);
}

Bytes characters(std::string_view text) {
  const std::vector<std::uint16_t> codes(text.begin(), text.end());
  return matrix(CharClass, {1, static_cast<std::int32_t>(codes.size())}, "",
                element(UInt16, bytes_of(codes)));
}

Bytes cell(const std::string& field, const SynsetRow& row) {
  if (field == "ILSVRC2012_ID") return number(row.id);
  if (field == "WNID") return characters(row.wnid);
  if (field == "words") return characters("kit fox, Vulpes macrotis");
  return matrix(DoubleClass, {0, 0}, "", element(Double, {}));
}

}  // namespace

Bytes MatSample::bytes() const {
  constexpr std::size_t NameBytes = 32;
  Bytes names;
  for (const std::string& field : fields) {
    append(names, letters(field));
    names.resize((names.size() + NameBytes - 1) / NameBytes * NameBytes);
  }
  Bytes contents = element(Int32, bytes_of<std::int32_t>({NameBytes}));
  append(contents, element(Int8, names));
  for (const SynsetRow& row : rows) {
    for (const std::string& field : fields) append(contents, cell(field, row));
  }
  const Bytes table =
      matrix(StructClass, {static_cast<std::int32_t>(rows.size()), 1}, variable, contents);
  Bytes file = letters("MATLAB 5.0 MAT-file");
  file.resize(124, ' ');
  append(file, {0x00, 0x01, 'I', 'M'});
  if (!packed) {
    append(file, table);
    return file;
  }
  uLongf size = compressBound(table.size());
  Bytes data(size);
  compress(data.data(), &size, table.data(), table.size());
  data.resize(size);
  append(file, element(Compressed, data));
  return file;
}

}  // namespace rcap
