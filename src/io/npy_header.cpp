#include "io/npy_header.hpp"

#include <cctype>
#include <cstddef>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace rcap {
namespace {

/// Reads the Python dictionary of a header. Strict: three known keys, each once.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  /// Empty if the text is not such a dictionary.
  std::optional<NpyHeader> parse() {
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
  NpyHeader header_;
  bool type_seen_ = false, order_seen_ = false, shape_seen_ = false;
};

/// The name of a type given by its letter and bytes: 'i', "4" -> int32.
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

}  // namespace

std::optional<NpyHeader> parse_npy_header(std::string_view text) {
  return HeaderParser(text).parse();
}

std::string describe_npy_type(const std::string& type) {
  if (type.starts_with('[')) return name_of_kind('[', "");
  const bool has_order =
      !type.empty() && std::string_view("<>|=").find(type[0]) != std::string::npos;
  const std::string_view rest = std::string_view(type).substr(has_order ? 1 : 0);
  const std::string name = rest.empty() ? "an unknown type" : name_of_kind(rest[0], rest.substr(1));
  return fmt::format("{}{} ('{}')", type.starts_with('>') ? "big-endian " : "", name, type);
}

}  // namespace rcap
