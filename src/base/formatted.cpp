#include "base/formatted.hpp"

#include <charconv>
#include <cmath>

#include "rcap/core/error.hpp"

namespace rcap {
namespace {

template <class... Format>
void append_number(std::string& text, auto value, Format... format) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, format...).ptr;
  text.append(buffer, end);
}

/// The fewest digits that read back as the same number, with an exponent only if it saves zeros.
template <class Real>
void append_real(std::string& text, Real value) {
  const double size = std::abs(static_cast<double>(value));
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e16) || !std::isfinite(size);
  append_number(text, value, plain ? std::chars_format::fixed : std::chars_format::scientific);
}

void append_quoted(std::string& text, std::string_view value) {
  text += '"';
  for (const char c : value) {
    if (c == '"' || c == '\\') text += '\\';
    const bool printable = static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
    if (printable) {
      text += c;
    } else {
      constexpr const char* Digits = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(c);
      text += {'\\', 'x', Digits[byte >> 4], Digits[byte & 15]};
    }
  }
  text += '"';
}

void append_hex(std::string& text, std::uint64_t value) {
  std::string digits;
  append_number(digits, value, 16);
  text.append(16 - digits.size(), '0') += digits;
}

struct Appender {
  std::string& text;
  void operator()(bool value) const { text += value ? "true" : "false"; }
  void operator()(std::int64_t value) const { append_number(text, value); }
  void operator()(std::uint64_t value) const { append_number(text, value); }
  void operator()(float value) const { append_real(text, value); }
  void operator()(double value) const { append_real(text, value); }
  void operator()(std::string_view value) const { text += value; }
};

void append_value(std::string& text, std::string_view spec, const FormatValue& value) {
  if (spec.empty()) return std::visit(Appender{text}, value);
  if (spec == ":016x") return append_hex(text, std::get<std::uint64_t>(value));
  if (spec == ":?") return append_quoted(text, std::get<std::string_view>(value));
  throw InternalError("formatted: unknown specification {" + std::string(spec) + "}");
}

}  // namespace

std::string format_values(std::string_view pattern, std::span<const FormatValue> values) {
  std::string text;
  std::size_t next = 0;
  while (true) {
    const std::size_t open = pattern.find('{');
    text += pattern.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = pattern.find('}', open);
    if (close == std::string_view::npos || next == values.size()) {
      throw InternalError("formatted: braces and values do not match: " + std::string(pattern));
    }
    append_value(text, pattern.substr(open + 1, close - open - 1), values[next++]);
    pattern.remove_prefix(close + 1);
  }
  return text;
}

}  // namespace rcap
