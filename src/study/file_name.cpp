#include "study/file_name.hpp"

namespace rcap {

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
