#pragma once

#include <string>
#include <utility>
#include <vector>

#include "rcap/core/error.hpp"

namespace rcap::python {

/// The value that a word stands for.
/// @throws InvalidArgument  none of them; lists the words
template <class Value>
Value choose(const char* option, const std::string& word,
             const std::vector<std::pair<std::string, Value>>& choices) {
  std::string words;
  for (const auto& [name, value] : choices) {
    if (name == word) return value;
    words += (words.empty() ? "" : ", ") + name;
  }
  throw InvalidArgument(std::string(option) + " \"" + word + "\" is none of " + words);
}

}  // namespace rcap::python
