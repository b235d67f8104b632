#include "io/npy.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "io/npy_header.hpp"
#include "io/refuse_file.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little,
              "arrays are read and written without swapping bytes");

constexpr std::string_view Magic = "\x93NUMPY";
constexpr std::uint64_t LargestNpyHeader = 1 << 20;
constexpr std::size_t NpyAlignment = 64;

/// A .npy file opened for reading, whose header has been read and checked against its size.
class NpyFile {
 public:
  /// @param dimensions  1 or 2
  NpyFile(fs::path path, std::string_view meaning, std::size_t dimensions = 1)
      : path_(std::move(path)), meaning_(meaning) {
    open();
    read_header();
    check_order_and_shape(dimensions);
  }

  [[nodiscard]] const std::string& type() const noexcept { return header_.type; }
  [[nodiscard]] const std::vector<std::uint64_t>& shape() const noexcept { return header_.shape; }

  template <class T>
  [[nodiscard]] std::vector<T> read_values() {
    std::vector<T> values(checked_count(sizeof(T)));
    read(values.data(), values.size() * sizeof(T));
    return values;
  }

  [[noreturn]] void refuse_type(std::string_view wanted, std::string_view remedy) const {
    // A big-endian array of the right kind keeps its width.
    const std::string& type = header_.type;
    const bool swapped =
        type.size() == 3 && type[0] == '>' &&
        (remedy[1] == 'f' ? type[1] == 'f' && type[2] != '2' : type[1] == 'i' || type[1] == 'u');
    fail("holds {}{}; save it with {}.astype('{}')", describe_npy_type(type),
         swapped ? "" : fmt::format(", but {} needed", wanted), meaning_,
         swapped ? "<" + type.substr(1) : remedy);
  }

 private:
  template <class... T>
  [[noreturn]] void fail(fmt::format_string<T...> what, T&&... values) const {
    refuse_file(path_, what, std::forward<T>(values)...);
  }

  void open() {
    std::error_code error;
    const fs::file_status status = fs::status(path_, error);
    if (!fs::exists(status)) fail("there is no such file; it should hold the {}", meaning_);
    if (!fs::is_regular_file(status)) fail("is not a regular file");
    file_bytes_ = fs::file_size(path_, error);
    stream_.open(path_, std::ios::binary);
    if (error || !stream_) fail("cannot be opened for reading");
  }

  void read_header() {
    std::array<unsigned char, 12> start{};
    if (file_bytes_ < 10) refuse_other_kind();
    read(start.data(), 10);
    if (std::memcmp(start.data(), Magic.data(), Magic.size()) != 0) refuse_other_kind();
    const int major = start[6], minor = start[7];
    if (major < 1 || major > 3 || minor != 0) {
      fail(".npy version {}.{} is unknown; save it with NumPy's np.save", major, minor);
    }
    std::uint64_t header_bytes = start[8] + 256u * start[9];
    data_start_ = 10;
    if (major > 1) {
      if (file_bytes_ < 12) refuse_other_kind();
      read(start.data() + 10, 2);
      header_bytes += (std::uint64_t{start[10]} << 16) + (std::uint64_t{start[11]} << 24);
      data_start_ = 12;
    }
    parse_header(header_bytes);
  }

  void parse_header(std::uint64_t header_bytes) {
    if (header_bytes > file_bytes_ - data_start_) {
      fail("truncated: its header has {} bytes, the file {}; copy or save it again", header_bytes,
           file_bytes_);
    }
    if (header_bytes > LargestNpyHeader) {
      fail("its header has {} bytes, at most {} are read; save a plain array of {}", header_bytes,
           LargestNpyHeader, meaning_);
    }
    std::string text(header_bytes, '\0');
    read(text.data(), text.size());
    data_start_ += header_bytes;
    auto header = parse_npy_header(text);
    if (!header) fail("has a header that np.save does not write; save it again with NumPy");
    header_ = *std::move(header);
  }

  void check_order_and_shape(std::size_t dimensions) const {
    const bool flat = dimensions == 1;
    if (header_.fortran_order) {
      fail("holds a Fortran-ordered array; save it with {}",
           flat ? meaning_ + ".ravel()" : "np.ascontiguousarray(" + meaning_ + ")");
    }
    if (header_.shape.size() == dimensions) return;
    fail("holds an array of shape ({}); {}", fmt::join(header_.shape, ", "),
         flat ? "one dimension is needed: save it with " + meaning_ + ".ravel()"
              : "two dimensions are needed, one row per sample");
  }

  /// The number of values in the file, which must match its header.
  [[nodiscard]] std::uint64_t checked_count(std::uint64_t value_bytes) const {
    const std::uint64_t data_bytes = file_bytes_ - data_start_;
    std::uint64_t count = 1;
    for (const std::uint64_t length : header_.shape) {
      if (length != 0 && count > std::numeric_limits<std::uint64_t>::max() / value_bytes / length) {
        fail("its header claims {} values of {} bytes, the file has {} bytes of data",
             fmt::join(header_.shape, " x "), value_bytes, data_bytes);
      }
      count *= length;
    }
    if (count * value_bytes == data_bytes) return count;
    fail("{}: its header claims {} bytes of data, the file has {}; copy or save it again",
         data_bytes < count * value_bytes ? "truncated" : "too long", count * value_bytes,
         data_bytes);
  }

  void read(void* target, std::uint64_t bytes) {
    stream_.read(static_cast<char*>(target), static_cast<std::streamsize>(bytes));
    if (stream_.gcount() != static_cast<std::streamsize>(bytes)) fail("cannot be read to the end");
  }

  [[noreturn]] void refuse_other_kind() const {
    fail("is not a .npy file; save it with np.save('{}', {})", path_.string(), meaning_);
  }

  fs::path path_;
  std::string meaning_;
  std::ifstream stream_;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t data_start_ = 0;
  NpyHeader header_;
};

template <class T>
constexpr char KindOf = std::is_floating_point_v<T> ? 'f'
                        : std::is_signed_v<T>       ? 'i'
                                                    : 'u';

/// Whether the type of a file is T: "<i4"; a single byte has no byte order, "|i1".
template <class T>
bool is_type(std::string_view type) {
  return type.size() == 3 && type[1] == KindOf<T> && type[2] == '0' + static_cast<int>(sizeof(T)) &&
         (type[0] == '<' || (type[0] == '|' && sizeof(T) == 1));
}

/// Reads the values into the first alternative of the variant that has the file's type.
template <class... T>
bool read_matching(NpyFile& file, std::variant<std::vector<T>...>& array) {
  const auto try_type = [&]<class U>(std::type_identity<U>) {
    if (!is_type<U>(file.type())) return false;
    array = file.read_values<U>();
    return true;
  };
  return (try_type(std::type_identity<T>{}) || ...);
}

/// Everything before the data of a version 1.0 file.
std::string make_header(std::string_view type, std::size_t count) {
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}", type, count);
  constexpr std::size_t Preamble = 10;
  const std::size_t unpadded = Preamble + text.size() + 1;
  text.append((NpyAlignment - unpadded % NpyAlignment) % NpyAlignment, ' ');
  text += '\n';
  std::string header(Magic);
  header +=
      {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}

template <class T>
void write_values(StagedFile& file, std::string_view type, std::span<const T> values) {
  const std::string header = make_header(type, values.size());
  file.write(header.data(), header.size());
  file.write(std::as_bytes(values));
}

}  // namespace

bool is_npy(const fs::path& path) {
  std::array<char, Magic.size()> start{};
  std::ifstream stream(path, std::ios::binary);
  stream.read(start.data(), start.size());
  return stream.gcount() == std::ssize(start) &&
         std::string_view(start.data(), start.size()) == Magic;
}

IntegerArray read_integers(const fs::path& path, std::string_view meaning) {
  NpyFile file(path, meaning);
  IntegerArray array;
  if (!read_matching(file, array)) file.refuse_type("integers are", "<i8");
  return array;
}

RealArray read_reals(const fs::path& path, std::string_view meaning) {
  NpyFile file(path, meaning);
  RealArray array;
  if (!read_matching(file, array)) file.refuse_type("float32 or float64 is", "<f4");
  return array;
}

NumberTable read_number_table(const fs::path& path, std::string_view meaning) {
  NpyFile file(path, meaning, 2);
  NumberTable table;
  table.rows = static_cast<std::int64_t>(file.shape()[0]);
  table.columns = static_cast<std::int64_t>(file.shape()[1]);
  const auto convert = [&](const auto& array) {
    std::visit([&](const auto& values) { table.values.assign(values.begin(), values.end()); },
               array);
  };
  RealArray reals;
  IntegerArray integers;
  if (read_matching(file, reals)) {
    convert(reals);
  } else if (read_matching(file, integers)) {
    convert(integers);
  } else {
    file.refuse_type("float32, float64 or integers are", "<f4");
  }
  return table;
}

std::vector<SampleId> read_ids(const fs::path& path) {
  IntegerArray array = read_integers(path, "ids");
  if (auto* ids = std::get_if<std::vector<SampleId>>(&array)) return std::move(*ids);
  return std::visit(
      [&](const auto& values) {
        std::vector<SampleId> ids;
        ids.reserve(values.size());
        for (const auto value : values) {
          if (!std::in_range<SampleId>(value)) {
            refuse_file(path, "id {} at position {} is larger than any sample id", value,
                        ids.size());
          }
          ids.push_back(static_cast<SampleId>(value));
        }
        return ids;
      },
      array);
}

void write_npy(StagedFile& file, std::span<const std::int64_t> values) {
  write_values(file, "<i8", values);
}

void write_npy(StagedFile& file, std::span<const float> values) {
  write_values(file, "<f4", values);
}

}  // namespace rcap
