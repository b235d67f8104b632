#include "io/toml_options.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/text_file.hpp"
#include "io/toml_file.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

/// A basic string of TOML.
std::string toml_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

/// Whether TOML can write it as a number; a seed can be too large for that.
bool is_number(const Option& option, const std::string& word) {
  if (option.kind() == Option::Kind::Number) return true;
  if (option.kind() == Option::Kind::NumberOrWord) {
    return std::ranges::count(option.words(), word) == 0;
  }
  std::int64_t value = 0;
  return (option.kind() == Option::Kind::Count || option.kind() == Option::Kind::OptionalCount) &&
         std::from_chars(word.data(), word.data() + word.size(), value).ec == std::errc{};
}

}  // namespace

TomlFile::TomlFile(const fs::path& path) : path_(path) {
  constexpr std::size_t MostBytes = 16 << 20;
  try {
    table_ = toml::parse(read_text(path, MostBytes), path.string());
  } catch (const toml::parse_error& error) {
    throw BadFile(
        fmt::format("{}:{}: {}", path.string(), error.source().begin.line, error.description()));
  } catch (const UnexpectedToml& error) {
    throw BadFile(fmt::format("{}: holds {}", path.string(), error.what()));
  }
}

void TomlFile::refuse(const toml::node& node, const std::string& what) const {
  throw InvalidArgument(fmt::format("{}:{}: {}", path_.string(), node.source().begin.line, what));
}

std::string TomlFile::word_of(const toml::node& node, std::string_view option) const {
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto flag = node.value_exact<bool>()) return *flag ? "on" : "off";
  if (const auto whole = node.value_exact<std::int64_t>()) return fmt::format("{}", *whole);
  if (const auto number = node.value_exact<double>()) return fmt::format("{}", *number);
  std::string words;
  if (const toml::array* array = node.as_array(); array != nullptr && !array->empty()) {
    for (const toml::node& element : *array) {
      if (!element.is_string() && !element.is_number()) {
        refuse(element, fmt::format("{}: a list of strings or numbers is expected", option));
      }
      words += (words.empty() ? "" : ",") + word_of(element, option);
    }
    return words;
  }
  refuse(node, fmt::format("{}: a string, a number, true or false is expected", option));
}

std::vector<GivenOption> read_toml_options(const fs::path& path) {
  const TomlFile file(path);
  std::vector<std::pair<toml::source_index, GivenOption>> by_line;  // the parser sorts by name
  for (const auto& [key, node] : file.table()) {
    by_line.push_back(
        {node.source().begin.line, {unspell(key.str()), file.word_of(node, key.str())}});
  }
  std::ranges::sort(by_line, {}, [](const auto& entry) { return entry.first; });
  std::vector<GivenOption> options;
  for (auto& [line, option] : by_line) options.push_back(std::move(option));
  return options;
}

std::string to_toml(std::span<const GivenOption> options, const OptionFields& fields) {
  std::string text;
  for (const GivenOption& option : options) {
    const Option* field = fields.find(option.name);
    const bool bare = field != nullptr && is_number(*field, option.word);
    text += fmt::format("{} = {}\n", spell(option.name, Reader::File),
                        bare ? option.word : toml_string(option.word));
  }
  return text;
}

}  // namespace rcap
