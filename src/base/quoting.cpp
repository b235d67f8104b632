#include "base/quoting.hpp"

#include <algorithm>
#include <cstddef>

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

}  // namespace rcap
