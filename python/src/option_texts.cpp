#include "option_texts.hpp"

#include <algorithm>
#include <span>

namespace rcap::python {
namespace {

/// The type of a text that is one of these.
std::string literal_of(std::span<const std::string> words) {
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "'" : ", '") + word + "'";
  return "typing.Literal[" + list + "]";
}

}  // namespace

std::string type_of(const Option& option) {
  switch (option.kind()) {
    case Option::Kind::Number:
      return "float";
    case Option::Kind::Count:
      return "int";
    case Option::Kind::OptionalCount:
      return "int | None";
    case Option::Kind::Flag:
      return "bool";
    case Option::Kind::Choice:
      return literal_of(option.words());
    case Option::Kind::NumberOrWord:
      return "float | " + literal_of(option.words());
    case Option::Kind::Numbers:
      return "collections.abc.Sequence[float]";
    default:
      return "str";
  }
}

std::string value_of(const Option& option) {
  const std::string word = option.word();
  switch (option.kind()) {
    case Option::Kind::NumberOrWord:
      if (std::ranges::count(option.words(), word) > 0) return "'" + word + "'";
      [[fallthrough]];
    case Option::Kind::Number:
      return word.find_first_of(".e") == std::string::npos ? word + ".0" : word;
    case Option::Kind::Count:
      return word;
    case Option::Kind::OptionalCount:
      return word.empty() ? "None" : word;
    case Option::Kind::Flag:
      return word == "on" ? "True" : "False";
    case Option::Kind::Numbers:
      return word.empty() ? "()" : "(" + word + ",)";
    default:
      return "'" + word + "'";
  }
}

}  // namespace rcap::python
