#include "cli/npy.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "rcap/core/error.hpp"

namespace rcap::cli {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little,
              "arrays are read and written without swapping bytes");

constexpr std::string_view Magic = "\x93NUMPY";
constexpr std::uint64_t LargestHeader = 1 << 20;
constexpr std::size_t DataAlignment = 64;

/// What the header of a .npy file says.
struct Header {
  std::string type;  ///< descr, e.g. "<i4"; for a structured type "[...]"
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
};

/// Reads the Python dictionary of a header. Strict: three known keys, each once.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  /// Nothing if the text is not such a dictionary.
  std::optional<Header> parse() {
    if (!take('{')) return std::nullopt;
    while (!take('}')) {
      if (!parse_entry() || (!take(',') && peek() != '}')) return std::nullopt;
    }
    skip_spaces();
    const bool complete = type_seen_ && order_seen_ && shape_seen_;
    return complete && position_ == text_.size() ? std::optional(header_) : std::nullopt;
  }

 private:
  bool parse_entry() {
    const auto key = parse_string();
    if (!key || !take(':')) return false;
    if (*key == "descr") return !std::exchange(type_seen_, true) && parse_type();
    if (*key == "fortran_order") return !std::exchange(order_seen_, true) && parse_order();
    if (*key == "shape") return !std::exchange(shape_seen_, true) && parse_shape();
    return false;
  }

  bool parse_type() {
    if (peek() == '[') return skip_list();
    const auto type = parse_string();
    if (type) header_.type = *type;
    return type.has_value();
  }

  /// A structured type is refused later by name, so its fields do not matter.
  bool skip_list() {
    int depth = 0;
    do {
      const char c = peek();
      if (c == '\'' || c == '"') {
        if (!parse_string()) return false;
        continue;
      }
      if (c == '\0') return false;
      depth += (c == '[' || c == '(') - (c == ']' || c == ')');
      ++position_;
    } while (depth > 0);
    header_.type = "[...]";
    return true;
  }

  bool parse_order() {
    header_.fortran_order = take_word("True");
    return header_.fortran_order || take_word("False");
  }

  bool parse_shape() {
    if (!take('(')) return false;
    bool comma = false;
    while (!take(')')) {
      const auto length = parse_number();
      if (!length) return false;
      header_.shape.push_back(*length);
      comma = take(',');
      if (!comma && peek() != ')') return false;
    }
    return header_.shape.size() != 1 || comma;  // (3) is a number in Python, (3,) a tuple
  }

  std::optional<std::uint64_t> parse_number() {
    skip_spaces();
    std::uint64_t value = 0;
    const std::size_t start = position_;
    while (position_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[position_]))) {
      const auto digit = static_cast<std::uint64_t>(text_[position_++] - '0');
      if (value > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) return std::nullopt;
      value = 10 * value + digit;
    }
    return position_ > start ? std::optional(value) : std::nullopt;
  }

  std::optional<std::string> parse_string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return std::nullopt;
    const std::size_t end = text_.find(quote, position_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view content = text_.substr(position_ + 1, end - position_ - 1);
    position_ = end + 1;
    if (content.find('\\') != std::string_view::npos) return std::nullopt;
    return std::string(content);
  }

  void skip_spaces() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n')) {
      ++position_;
    }
  }
  char peek() {
    skip_spaces();
    return position_ < text_.size() ? text_[position_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++position_;
    return true;
  }
  bool take_word(std::string_view word) {
    skip_spaces();
    if (!text_.substr(position_).starts_with(word)) return false;
    position_ += word.size();
    return true;
  }

  std::string_view text_;
  std::size_t position_ = 0;
  Header header_;
  bool type_seen_ = false, order_seen_ = false, shape_seen_ = false;
};

/// What a type letter and its bytes are called: 'i', "4" -> int32.
std::string name_of_kind(char kind, std::string_view bytes) {
  const auto bits = bytes == "1"    ? "8"
                    : bytes == "2"  ? "16"
                    : bytes == "4"  ? "32"
                    : bytes == "8"  ? "64"
                    : bytes == "16" ? "128"
                                    : "";
  switch (kind) {
    case 'i':
      return fmt::format("int{}", bits);
    case 'u':
      return fmt::format("uint{}", bits);
    case 'f':
      return fmt::format("float{}", bits);
    case 'c':
      return bytes == "8" ? "complex64" : "complex128";
    case 'b':
      return "bool";
    case 'O':
      return "Python objects";
    case 'U':
    case 'S':
    case 'a':
      return "strings";
    case 'M':
    case 'm':
      return "dates";
    case 'V':
    case '[':
      return "structured records";
    default:
      return "an unknown type";
  }
}

/// E.g. "big-endian int32 ('>i4')".
std::string describe_type(const std::string& type) {
  if (type.starts_with('[')) return name_of_kind('[', "");
  const bool has_order =
      !type.empty() && std::string_view("<>|=").find(type[0]) != std::string::npos;
  const std::string_view rest = std::string_view(type).substr(has_order ? 1 : 0);
  const std::string name = rest.empty() ? "an unknown type" : name_of_kind(rest[0], rest.substr(1));
  return fmt::format("{}{} ('{}')", type.starts_with('>') ? "big-endian " : "", name, type);
}

/// A .npy file opened for reading, its header read and its size agreed with it.
class NpyFile {
 public:
  NpyFile(fs::path path, std::string_view meaning) : path_(std::move(path)), meaning_(meaning) {
    open();
    read_header();
    check_order_and_shape();
  }

  [[nodiscard]] const std::string& type() const noexcept { return header_.type; }

  template <class T>
  [[nodiscard]] std::vector<T> read_values() {
    check_size(sizeof(T));
    std::vector<T> values(header_.shape[0]);
    read(values.data(), values.size() * sizeof(T));
    return values;
  }

  [[noreturn]] void refuse_type(std::string_view wanted, std::string_view remedy) const {
    // A big-endian array of the right kind keeps its width.
    const std::string& type = header_.type;
    const bool swapped =
        type.size() == 3 && type[0] == '>' &&
        (remedy[1] == 'f' ? type[1] == 'f' && type[2] != '2' : type[1] == 'i' || type[1] == 'u');
    fail(fmt::format("holds {}{}; save it with {}.astype('{}')", describe_type(type),
                     swapped ? "" : fmt::format(" where {} needed", wanted), meaning_,
                     swapped ? "<" + type.substr(1) : remedy));
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw BadFile(fmt::format("{}: {}", path_.string(), what));
  }

  void open() {
    std::error_code error;
    const fs::file_status status = fs::status(path_, error);
    if (!fs::exists(status)) {
      fail(fmt::format("there is no such file; it should hold the {}", meaning_));
    }
    if (!fs::is_regular_file(status)) fail("is not a regular file");
    file_bytes_ = fs::file_size(path_, error);
    stream_.open(path_, std::ios::binary);
    if (error || !stream_) fail("cannot be opened for reading");
  }

  void read_header() {
    std::array<unsigned char, 12> start{};
    if (file_bytes_ < 10) fail(not_npy());
    read(start.data(), 10);
    if (std::memcmp(start.data(), Magic.data(), Magic.size()) != 0) fail(not_npy());
    const int major = start[6], minor = start[7];
    if (major < 1 || major > 3 || minor != 0) {
      fail(fmt::format(".npy version {}.{} is not known; save it with np.save of NumPy", major,
                       minor));
    }
    std::uint64_t header_bytes = start[8] + 256u * start[9];
    data_start_ = 10;
    if (major > 1) {
      if (file_bytes_ < 12) fail(not_npy());
      read(start.data() + 10, 2);
      header_bytes += (std::uint64_t{start[10]} << 16) + (std::uint64_t{start[11]} << 24);
      data_start_ = 12;
    }
    parse_header(header_bytes);
  }

  void parse_header(std::uint64_t header_bytes) {
    if (header_bytes > file_bytes_ - data_start_) {
      fail(fmt::format("truncated: its header has {} bytes, the file {}; copy or save it again",
                       header_bytes, file_bytes_));
    }
    if (header_bytes > LargestHeader) {
      fail(fmt::format("its header has {} bytes, at most {} are read; save a plain array of {}",
                       header_bytes, LargestHeader, meaning_));
    }
    std::string text(header_bytes, '\0');
    read(text.data(), text.size());
    data_start_ += header_bytes;
    auto header = HeaderParser(text).parse();
    if (!header) fail("has a header that np.save does not write; save it again with NumPy");
    header_ = *std::move(header);
  }

  void check_order_and_shape() const {
    if (header_.fortran_order) {
      fail(fmt::format("holds a Fortran-ordered array; save it with {}.ravel()", meaning_));
    }
    if (header_.shape.size() != 1) {
      fail(
          fmt::format("holds an array of shape ({}); one dimension is needed: save it with "
                      "{}.ravel()",
                      fmt::join(header_.shape, ", "), meaning_));
    }
  }

  void check_size(std::uint64_t value_bytes) const {
    const std::uint64_t count = header_.shape[0];
    const std::uint64_t data_bytes = file_bytes_ - data_start_;
    if (count > std::numeric_limits<std::uint64_t>::max() / value_bytes) {
      fail(fmt::format("its header promises {} values of {} bytes, the file holds {} bytes of them",
                       count, value_bytes, data_bytes));
    }
    if (count * value_bytes == data_bytes) return;
    fail(
        fmt::format("{}: its header promises {} bytes of data, the file holds {}; copy or save "
                    "it again",
                    data_bytes < count * value_bytes ? "truncated" : "longer than it should be",
                    count * value_bytes, data_bytes));
  }

  void read(void* target, std::uint64_t bytes) {
    stream_.read(static_cast<char*>(target), static_cast<std::streamsize>(bytes));
    if (stream_.gcount() != static_cast<std::streamsize>(bytes)) fail("cannot be read to its end");
  }

  [[nodiscard]] std::string not_npy() const {
    return fmt::format("is not a .npy file; save it with np.save('{}', {})", path_.string(),
                       meaning_);
  }

  fs::path path_;
  std::string meaning_;
  std::ifstream stream_;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t data_start_ = 0;
  Header header_;
};

template <class T>
constexpr char KindOf = std::is_floating_point_v<T> ? 'f'
                        : std::is_signed_v<T>       ? 'i'
                                                    : 'u';

/// Whether the type of a file is T: "<i4"; a single byte needs no order, "|i1".
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
  text.append((DataAlignment - unpadded % DataAlignment) % DataAlignment, ' ');
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

std::vector<SampleId> read_ids(const fs::path& path) {
  IntegerArray array = read_integers(path, "ids");
  if (auto* ids = std::get_if<std::vector<SampleId>>(&array)) return std::move(*ids);
  return std::visit(
      [&](const auto& values) {
        std::vector<SampleId> ids;
        ids.reserve(values.size());
        for (const auto value : values) {
          if (!std::in_range<SampleId>(value)) {
            throw BadFile(fmt::format("{}: id {} at position {} is above every sample id",
                                      path.string(), value, ids.size()));
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

}  // namespace rcap::cli
