#include "base/quoting.hpp"

#include <algorithm>

namespace rcap {

std::string in_quotes(std::string_view text) {
  constexpr std::size_t Longest = 80;
  std::string shown(text.substr(0, Longest));
  std::replace_if(
      shown.begin(), shown.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, '?');
  return '"' + shown + (text.size() > Longest ? "...\"" : "\"");
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

std::string first_few(std::span<const std::string> names, std::size_t most,
                      std::string_view between) {
  std::string text;
  for (const std::string& name : names.first(std::min(names.size(), most))) {
    text.append(text.empty() ? "" : between).append(name);
  }
  return names.size() > most ? text + " ..." : text;
}

}  // namespace rcap
