#include "study/option_list.hpp"

#include <algorithm>

namespace rcap {

std::string unquoted(const std::string& toml_value) {
  if (toml_value.size() < 2 || toml_value.front() != '"' || toml_value.back() != '"') {
    return toml_value;
  }
  std::string text;
  for (std::size_t i = 1; i + 1 < toml_value.size(); ++i) {
    if (toml_value[i] == '\\') ++i;
    text += toml_value[i];
  }
  return text;
}

std::vector<NamedOption> unquoted(std::span<const NamedOption> options) {
  std::vector<NamedOption> result;
  for (const auto& [name, value] : options) result.emplace_back(name, unquoted(value));
  return result;
}

std::string value_of(std::span<const NamedOption> options, const std::string& name) {
  const auto found = std::ranges::find(options, name, &NamedOption::first);
  return found == options.end() ? "" : unquoted(found->second);
}

std::string as_file_name(const std::string& name) {
  std::string result;
  for (const char c : name) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '.';
    const bool capital = c >= 'A' && c <= 'Z';
    if (plain || capital) {
      result += capital ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!result.empty() && result.back() != '-') {
      result += '-';
    }
  }
  while (!result.empty() && result.back() == '-') result.pop_back();
  return result.empty() ? "unnamed" : result;
}

}  // namespace rcap
