#pragma once

#include <concepts>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "rcap/core/export.hpp"

RCAP_API_BEGIN
namespace rcap {

/// Who reads the name of an option, which decides its spelling.
enum class Reader {
  Code,         ///< C++, Python and state files: `min_per_class`
  CommandLine,  ///< `--min-per-class`
  File,         ///< TOML: `min-per-class`
};

[[nodiscard]] std::string spell(std::string_view name, Reader reader);
/// The name in code, from any spelling.
[[nodiscard]] std::string unspell(std::string_view name);

/// The numbers that an option accepts.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_is_open = false;   ///< `low` itself is excluded
  bool high_is_open = false;  ///< `high` itself is excluded

  static constexpr Range at_least(double low) { return {.low = low}; }
  static constexpr Range above(double low) { return {.low = low, .low_is_open = true}; }
  static constexpr Range between(double low, double high) { return {low, high}; }
  /// From 0 to below 1.
  static constexpr Range proper_part() { return {.low = 0, .high = 1, .high_is_open = true}; }

  /// False for NaN and for infinite numbers.
  [[nodiscard]] bool holds(double value) const noexcept;
  /// "lie between 0.001 and 1000", "be at least 1".
  [[nodiscard]] std::string rule() const;
};

/// One of the words of a choice, or a number instead.
template <class Enum>
requires std::is_enum_v<Enum>
class ChoiceOrNumber {
 public:
  constexpr ChoiceOrNumber(Enum choice) : choice_(choice) {}
  constexpr ChoiceOrNumber(double number) : number_(number) {}

  /// Empty if it is a word.
  [[nodiscard]] constexpr std::optional<double> number() const noexcept { return number_; }
  /// The word, if it is not a number.
  [[nodiscard]] constexpr Enum choice() const noexcept { return choice_; }
  [[nodiscard]] constexpr bool operator==(Enum choice) const noexcept {
    return !number_ && choice_ == choice;
  }

 private:
  Enum choice_ = {};
  std::optional<double> number_;
};

/// One option of a struct: where its value is, its name, the values it accepts and its meaning.
/// Values are passed as words: from a command line, a file or Python, and back.
class Option {
 public:
  enum class Kind {
    Number,
    NumberOrWord,
    Count,
    OptionalCount,
    Flag,
    Choice,
    Text,
    Path,
    List,
    Numbers
  };

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] std::string_view name() const noexcept { return name_; }
  /// The placeholder for its value in a help text.
  [[nodiscard]] std::string value_name() const;
  /// One line.
  [[nodiscard]] std::string_view meaning() const noexcept { return meaning_; }
  /// The words of a choice, "on" and "off" of a flag, or those accepted besides numbers; may be
  /// empty.
  [[nodiscard]] std::span<const std::string> words() const noexcept { return words_; }
  /// Whether it must be given: its default is not a value to run with.
  [[nodiscard]] bool is_required() const noexcept { return required_; }
  /// Whether it can change the result. If not, it may differ when a run is resumed.
  [[nodiscard]] bool shapes_result() const noexcept { return shapes_result_; }
  /// Whether it has an effect, given the other values in its struct.
  [[nodiscard]] bool applies() const { return why_not_.empty() || (holds_ && holds_()); }
  /// Its heading in a help text.
  [[nodiscard]] const std::string& group() const noexcept { return group_; }

  /// The value as a word: 0.9, on, paper; empty if an optional count, a text, a path or a list is
  /// empty; a list is its words with commas between them.
  [[nodiscard]] std::string word() const { return get_(); }
  /// @throws InvalidArgument  the option does not accept this word, or does not apply; nothing is
  ///                          changed
  void set(std::string_view word, Reader reader = Reader::Code) const;
  /// @throws InvalidArgument  the value is out of range
  void check(Reader reader = Reader::Code) const;

  // For the function that lists the option.
  Option& required() {
    required_ = true;
    return *this;
  }
  Option& shapes_no_result() {
    shapes_result_ = false;
    return *this;
  }
  /// @param rule  why it does not apply, to follow the name: "is for images"
  Option& applies_if(bool holds, std::string rule) {
    if (!holds) why_not_ = std::move(rule);
    return *this;
  }
  /// The same if it depends on other options of the list, with whatever values they get later.
  Option& applies_if(std::function<bool()> holds, std::string rule) {
    holds_ = std::move(holds);
    why_not_ = std::move(rule);
    return *this;
  }

 private:
  friend class OptionFields;

  void check_numbers(Reader reader) const;

  Kind kind_ = Kind::Text;
  std::string_view name_, value_name_;
  std::string meaning_, group_, why_not_;
  std::vector<std::string> words_;
  Range range_;
  bool required_ = false;
  bool shapes_result_ = true;
  std::function<bool()> holds_;  ///< empty: it does not, if `why_not_` is set
  std::function<std::string()> get_;
  /// Returns a complaint to follow the name, "\"x\" is not a number"; empty: it was accepted.
  std::function<std::string(std::string_view)> set_;
};

/// An option and the word that was given for it.
struct GivenOption {
  std::string name;  ///< as code spells it
  std::string word;

  bool operator==(const GivenOption&) const = default;
};

/// Lists the options of a struct, once for all uses: range checks, state files, command lines and
/// their help, TOML, Python's keyword arguments and their types.
///
///     void list_options(OptionFields& fields, RcapOptions& options) {
///       fields.number("beta", options.beta, "B", "temperature", Range::between(1e-3, 1e3));
///       fields.choice("class_share", options.class_share, {"robust", "paper"}, "how to split");
///     }
///
/// The list refers to the struct, which must outlive it. Names, value names and words are literals.
class OptionFields {
 public:
  /// The heading of the options listed from now on. They apply unless they say otherwise
  /// themselves.
  void group(std::string heading) {
    group_ = std::move(heading);
    why_not_.clear();
  }
  /// `Option::applies_if` for all options listed from now on, up to the next call.
  void applies_if(bool holds, std::string rule) { why_not_ = holds ? "" : std::move(rule); }

  Option& number(std::string_view name, double& value, std::string_view value_name,
                 std::string meaning, Range range = {});
  /// A number, or a word that means no number: "auto", "off".
  Option& number(std::string_view name, std::optional<double>& value, std::string_view value_name,
                 std::string meaning, Range range, std::string_view word);

  template <std::integral Count>
  requires(!std::same_as<Count, bool>) Option& count(std::string_view name, Count& value,
                                                     std::string_view value_name,
                                                     std::string meaning, Range range = {}) {
    Option& option = add(Option::Kind::Count, name, value_name, std::move(meaning), range);
    option.get_ = [&value] { return std::to_string(value); };
    option.set_ = [&value](std::string_view word) { return parse(word, value); };
    return option;
  }

  /// A count that may be left out: the word "none".
  template <std::integral Count>
  Option& count(std::string_view name, std::optional<Count>& value, std::string_view value_name,
                std::string meaning, Range range = {}) {
    Option& option = add(Option::Kind::OptionalCount, name, value_name, std::move(meaning), range);
    option.get_ = [&value] { return value ? std::to_string(*value) : std::string(); };
    option.set_ = [&value](std::string_view word) {
      Count count{};
      std::string complaint = word == "none" ? std::string() : parse(word, count);
      if (complaint.empty()) value = word == "none" ? std::nullopt : std::optional(count);
      return complaint;
    };
    return option;
  }

  Option& flag(std::string_view name, bool& value, std::string meaning);

  /// @param words  one for each enumerator, in their order, as in all choices
  template <class Enum>
  requires std::is_enum_v<Enum> Option& choice(std::string_view name, Enum& value,
                                               std::initializer_list<std::string_view> words,
                                               std::string meaning) {
    return choice(
        name, words, std::move(meaning), [&value] { return static_cast<std::size_t>(value); },
        [&value](std::size_t place) { value = static_cast<Enum>(place); });
  }

  /// One of several words, or a number.
  template <class Enum>
  Option& choice(std::string_view name, ChoiceOrNumber<Enum>& value,
                 std::initializer_list<std::string_view> words, std::string_view value_name,
                 const std::string& meaning, Range range) {
    const auto get = [&value] {
      return value.number() ? PlaceOrNumber(*value.number())
                            : PlaceOrNumber(static_cast<std::size_t>(value.choice()));
    };
    const auto set = [&value](std::size_t place) { value = static_cast<Enum>(place); };
    return number_or_word(name, words, value_name, meaning, range, get, set,
                          [&value](double number) { value = number; });
  }

  Option& text(std::string_view name, std::string& value, std::string_view value_name,
               std::string meaning);
  Option& path(std::string_view name, std::filesystem::path& value, std::string_view value_name,
               std::string meaning);
  /// Words separated by commas.
  Option& list(std::string_view name, std::vector<std::string>& value, std::string_view value_name,
               std::string meaning);
  /// Numbers separated by commas.
  Option& numbers(std::string_view name, std::vector<double>& value, std::string_view value_name,
                  std::string meaning, Range range = {});

  [[nodiscard]] std::span<const Option> all() const noexcept { return options_; }
  [[nodiscard]] const Option* find(std::string_view name) const noexcept;
  [[nodiscard]] std::vector<std::string> names(Reader reader) const;
  /// Adds an option of another list under the current heading, unless there is one of its name.
  void append(Option option);
  void append(const OptionFields& others) {
    for (const Option& option : others.all()) append(option);
  }

 private:
  /// Parses the whole word as a decimal number.
  /// @return what is wrong with the word; empty if it was accepted
  template <class Number>
  static std::string parse(std::string_view word, Number& value);

  Option& add(Option::Kind kind, std::string_view name, std::string_view value_name,
              std::string meaning, Range range = {});
  Option& choice(std::string_view name, std::initializer_list<std::string_view> words,
                 std::string meaning, std::function<std::size_t()> get,
                 std::function<void(std::size_t)> set);

  /// Which of the words, or a number instead.
  using PlaceOrNumber = std::variant<std::size_t, double>;
  Option& number_or_word(std::string_view name, std::initializer_list<std::string_view> words,
                         std::string_view value_name, std::string meaning, Range range,
                         std::function<PlaceOrNumber()> get,
                         std::function<void(std::size_t)> set_place,
                         std::function<void(double)> set_number);

  std::vector<Option> options_;
  std::string group_, why_not_;
};

/// @throws InvalidArgument  a value is out of range; names the option
void check(const OptionFields& fields, Reader reader = Reader::Code);

/// "name=value" of each option that shapes results, as state files hold them.
[[nodiscard]] std::vector<std::string> describe(const OptionFields& fields);

// The same for a struct with a `list_options`.

template <class Options>
void check_options(Options options, Reader reader = Reader::Code) {
  OptionFields fields;
  list_options(fields, options);
  check(fields, reader);
}

template <class Options>
[[nodiscard]] std::vector<std::string> describe_options(Options options) {
  OptionFields fields;
  list_options(fields, options);
  return describe(fields);
}

}  // namespace rcap
RCAP_API_END
