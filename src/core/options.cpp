#include "rcap/core/options.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <system_error>

#include "base/formatted.hpp"
#include "base/nearest_name.hpp"
#include "base/quoting.hpp"
#include "base/read_number.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

/// "a,b" as a and b.
std::vector<std::string> split_list(std::string_view words) {
  std::vector<std::string> list;
  for (std::size_t begin = 0; begin < words.size();) {
    const std::size_t end = std::min(words.find(',', begin), words.size());
    list.emplace_back(words.substr(begin, end - begin));
    begin = end + 1;
  }
  return list;
}

}  // namespace

std::string spell(std::string_view name, Reader reader) {
  std::string spelled(name);
  if (reader == Reader::Code) return spelled;
  std::ranges::replace(spelled, '_', '-');
  return reader == Reader::CommandLine ? "--" + spelled : spelled;
}

std::string unspell(std::string_view name) {
  if (name.starts_with("--")) name.remove_prefix(2);
  std::string plain(name);
  std::ranges::replace(plain, '-', '_');
  return plain;
}

bool Range::holds(double value) const noexcept {
  return std::isfinite(value) && (low_is_open ? value > low : value >= low) &&
         (high_is_open ? value < high : value <= high);
}

std::string Range::rule() const {
  const std::string from = formatted("{} {}", low_is_open ? "above" : "at least", low);
  if (std::isinf(high)) return std::isinf(low) ? "be finite" : "be " + from;
  if (low_is_open || high_is_open) {
    return formatted("be {} and {} {}", from, high_is_open ? "below" : "at most", high);
  }
  return formatted("lie between {} and {}", low, high);
}

std::string Option::value_name() const {
  const std::string words = first_few(words_, words_.size(), "|");
  if (kind_ == Kind::NumberOrWord) return formatted("{}|{}", value_name_, words);
  return words_.empty() ? std::string(value_name_) : words;
}

void Option::set(std::string_view word, Reader reader) const {
  const std::string complaint = applies() ? set_(word) : why_not_;
  if (!complaint.empty()) {
    throw InvalidArgument(formatted("{} {}", spell(name_, reader), complaint));
  }
}

void Option::check(Reader reader) const {
  if (kind_ == Kind::Numbers && applies()) return check_numbers(reader);
  const bool has_range = kind_ == Kind::Number || kind_ == Kind::NumberOrWord ||
                         kind_ == Kind::Count || kind_ == Kind::OptionalCount;
  const std::string number = has_range && applies() ? word() : "";
  if (number.empty() || std::ranges::count(words_, number) > 0) return;
  double value = 0;
  (void)read_number(number, value);  // it was written as one
  if (!range_.holds(value)) {
    throw InvalidArgument(
        formatted("{} is {}; it must {}", spell(name_, reader), number, range_.rule()));
  }
}

void Option::check_numbers(Reader reader) const {
  const std::vector<std::string> numbers = split_list(word());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    double value = 0;
    (void)read_number(numbers[i], value);  // it was written as one
    if (range_.holds(value)) continue;
    throw InvalidArgument(
        formatted("{}[{}] is {}; it must {}", spell(name_, reader), i, numbers[i], range_.rule()));
  }
}

template <class Number>
std::string OptionFields::parse(std::string_view word, Number& value) {
  Number parsed{};
  const auto [end, error] = read_number(word, parsed);
  if (error == std::errc::result_out_of_range) {
    return formatted("{} is out of range; it must lie between {} and {}", word,
                     std::numeric_limits<Number>::lowest(), std::numeric_limits<Number>::max());
  }
  if (error != std::errc{} || end != word.data() + word.size()) {
    constexpr std::string_view Kind = std::floating_point<Number>      ? "a number"
                                      : std::unsigned_integral<Number> ? "a whole number >= 0"
                                                                       : "a whole number";
    return formatted("{} is not {}", in_quotes(word), Kind);
  }
  // Minus zero becomes zero: in a file -0 is a whole number, which has no sign to come back with.
  value = parsed + Number{};
  return {};
}

template std::string OptionFields::parse(std::string_view, int&);
template std::string OptionFields::parse(std::string_view, std::int64_t&);
template std::string OptionFields::parse(std::string_view, std::uint64_t&);

Option& OptionFields::add(Option::Kind kind, std::string_view name, std::string_view value_name,
                          std::string meaning, Range range) {
  constexpr std::size_t Usual = 64;  // an option is large to move
  if (options_.empty()) options_.reserve(Usual);
  Option& option = options_.emplace_back();
  option.kind_ = kind;
  option.name_ = name;
  option.value_name_ = value_name;
  option.meaning_ = std::move(meaning);
  option.range_ = range;
  option.group_ = group_;
  option.why_not_ = why_not_;
  return option;
}

Option& OptionFields::number(std::string_view name, double& value, std::string_view value_name,
                             std::string meaning, Range range) {
  Option& option = add(Option::Kind::Number, name, value_name, std::move(meaning), range);
  option.get_ = [&value] { return formatted("{}", value); };
  option.set_ = [&value](std::string_view word) { return parse(word, value); };
  return option;
}

Option& OptionFields::number(std::string_view name, std::optional<double>& value,
                             std::string_view value_name, std::string meaning, Range range,
                             std::string_view word) {
  const auto get = [&value] {
    return value ? PlaceOrNumber(*value) : PlaceOrNumber(std::size_t{0});
  };
  return number_or_word(
      name, {word}, value_name, std::move(meaning), range, get,
      [&value](std::size_t) { value.reset(); }, [&value](double number) { value = number; });
}

Option& OptionFields::number_or_word(std::string_view name,
                                     std::initializer_list<std::string_view> words,
                                     std::string_view value_name, std::string meaning, Range range,
                                     std::function<PlaceOrNumber()> get,
                                     std::function<void(std::size_t)> set_place,
                                     std::function<void(double)> set_number) {
  Option& option = add(Option::Kind::NumberOrWord, name, value_name, std::move(meaning), range);
  option.words_.assign(words.begin(), words.end());
  const auto list = std::make_shared<const std::vector<std::string>>(option.words_);
  option.get_ = [list, get = std::move(get)] {
    const PlaceOrNumber value = get();
    if (const double* number = std::get_if<double>(&value)) return formatted("{}", *number);
    return list->at(std::get<std::size_t>(value));
  };
  option.set_ = [list, set_place = std::move(set_place),
                 set_number = std::move(set_number)](std::string_view word) -> std::string {
    if (const auto found = std::ranges::find(*list, word); found != list->end()) {
      set_place(static_cast<std::size_t>(found - list->begin()));
      return {};
    }
    double number = 0;
    const std::string complaint = parse(word, number);
    if (complaint.empty()) {
      set_number(number);
      return {};
    }
    return formatted("{} nor {}{}{}", complaint, list->size() > 1 ? "one of " : "",
                     first_few(*list, list->size(), ", "), did_you_mean(word, *list));
  };
  return option;
}

Option& OptionFields::flag(std::string_view name, bool& value, std::string meaning) {
  Option& option = choice(
      name, {"on", "off"}, std::move(meaning), [&value] { return std::size_t{!value}; },
      [&value](std::size_t place) { value = place == 0; });
  option.kind_ = Option::Kind::Flag;
  return option;
}

Option& OptionFields::choice(std::string_view name, std::initializer_list<std::string_view> words,
                             std::string meaning, std::function<std::size_t()> get,
                             std::function<void(std::size_t)> set) {
  Option& option = add(Option::Kind::Choice, name, "", std::move(meaning));
  option.words_.assign(words.begin(), words.end());
  const auto list = std::make_shared<const std::vector<std::string>>(option.words_);
  option.get_ = [list, get = std::move(get)] { return list->at(get()); };
  option.set_ = [list, set = std::move(set)](std::string_view word) -> std::string {
    const auto found = std::ranges::find(*list, word);
    if (found == list->end()) {
      return formatted("{} is not one of {}{}", in_quotes(word),
                       first_few(*list, list->size(), ", "), did_you_mean(word, *list));
    }
    set(static_cast<std::size_t>(found - list->begin()));
    return {};
  };
  return option;
}

Option& OptionFields::text(std::string_view name, std::string& value, std::string_view value_name,
                           std::string meaning) {
  Option& option = add(Option::Kind::Text, name, value_name, std::move(meaning));
  option.get_ = [&value] { return value; };
  option.set_ = [&value](std::string_view word) {
    value = word;
    return std::string();
  };
  return option;
}

Option& OptionFields::path(std::string_view name, std::filesystem::path& value,
                           std::string_view value_name, std::string meaning) {
  Option& option = add(Option::Kind::Path, name, value_name, std::move(meaning));
  option.get_ = [&value] { return value.string(); };
  option.set_ = [&value](std::string_view word) -> std::string {
    if (word.empty()) return "\"\": an empty file name";
    value = word;
    return {};
  };
  return option;
}

Option& OptionFields::list(std::string_view name, std::vector<std::string>& value,
                           std::string_view value_name, std::string meaning) {
  Option& option = add(Option::Kind::List, name, value_name, std::move(meaning));
  option.get_ = [&value] { return first_few(value, value.size(), ","); };
  option.set_ = [&value](std::string_view word) {
    value = split_list(word);
    return std::string();
  };
  return option;
}

Option& OptionFields::numbers(std::string_view name, std::vector<double>& value,
                              std::string_view value_name, std::string meaning, Range range) {
  Option& option = add(Option::Kind::Numbers, name, value_name, std::move(meaning), range);
  option.get_ = [&value] {
    std::vector<std::string> words;
    words.reserve(value.size());
    for (const double number : value) words.push_back(formatted("{}", number));
    return first_few(words, words.size(), ",");
  };
  option.set_ = [&value](std::string_view word) {
    std::vector<double> numbers;
    for (const std::string& one : split_list(word)) {
      std::string complaint = parse(one, numbers.emplace_back());
      if (!complaint.empty()) return complaint;
    }
    value = std::move(numbers);
    return std::string();
  };
  return option;
}

const Option* OptionFields::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find(options_, name, &Option::name);
  return found == options_.end() ? nullptr : &*found;
}

std::vector<std::string> OptionFields::names(Reader reader) const {
  std::vector<std::string> names;
  for (const Option& option : options_) names.push_back(spell(option.name(), reader));
  return names;
}

void OptionFields::append(Option option) {
  if (find(option.name()) != nullptr) return;
  option.group_ = group_;
  options_.push_back(std::move(option));
}

void check(const OptionFields& fields, Reader reader) {
  for (const Option& option : fields.all()) option.check(reader);
}

std::vector<std::string> describe(const OptionFields& fields) {
  std::vector<std::string> words;
  for (const Option& option : fields.all()) {
    if (!option.shapes_result() || !option.applies()) continue;
    const std::string word = option.word();
    words.push_back(formatted("{}={}", option.name(), word.empty() ? "none" : word));
  }
  return words;
}

}  // namespace rcap
