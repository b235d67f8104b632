#pragma once

#include <charconv>
#include <concepts>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "base/nearest_name.hpp"
#include "rcap/core/error.hpp"

namespace CLI {
class App;
}

namespace rcap::cli {

/// More threads than this are taken for a mistake.
inline constexpr int MostThreads = 4096;

/// The text of an option as a number: the whole of it, in decimal.
/// @throws InvalidArgument  names the option and the text
template <class Number>
[[nodiscard]] Number parse_number(std::string_view option, std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {
    throw InvalidArgument(fmt::format("{} {} does not fit; it lies in {} .. {}", option, text,
                                      std::numeric_limits<Number>::lowest(),
                                      std::numeric_limits<Number>::max()));
  }
  if (error != std::errc{} || end != text.data() + text.size()) {
    const std::string_view kind = std::floating_point<Number>      ? "a number"
                                  : std::unsigned_integral<Number> ? "a whole number >= 0"
                                                                   : "a whole number";
    throw InvalidArgument(fmt::format("{} \"{}\" is not {}", option, text, kind));
  }
  return value;
}

/// One word that an option takes, and what it stands for.
template <class Value>
struct Choice {
  std::string_view name;
  Value value;
};

/// The options of one command: declared one by one onto variables that hold their
/// defaults, then parsed. Help comes out of the same declarations.
///
///     CommandLine line("select", "Selects samples.", "Example: ...");
///     line.group("Data");
///     line.path("--labels", arguments.labels, "FILE", "class of every sample (.npy)");
///     if (!line.parse(words)) return;      // help was asked for, and printed
///
/// The variables must live until `parse` has returned.
class CommandLine {
 public:
  CommandLine(std::string command, const std::string& summary, const std::string& footer);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// Options added from now on stand under this heading.
  void group(std::string heading) { group_ = std::move(heading); }

  void text(const std::string& name, std::string& value, const std::string& value_name,
            const std::string& meaning) {
    add(name, value_name, meaning, value, [&value](const std::string& word) { value = word; });
  }

  /// @throws InvalidArgument  from `parse`, for an empty path
  void path(const std::string& name, std::filesystem::path& value, const std::string& value_name,
            const std::string& meaning);

  template <class Number>
  void number(const std::string& name, Number& value, const std::string& value_name,
              const std::string& meaning) {
    add(name, value_name, meaning, fmt::format("{}", value),
        [&value, name](const std::string& word) { value = parse_number<Number>(name, word); });
  }

  /// A number without a default.
  template <class Number>
  void number(const std::string& name, std::optional<Number>& value, const std::string& value_name,
              const std::string& meaning) {
    add(name, value_name, meaning, "",
        [&value, name](const std::string& word) { value = parse_number<Number>(name, word); });
  }

  /// One of a few words; help lists them.
  template <class Value>
  void choice(const std::string& name, Value& value,
              std::initializer_list<Choice<std::type_identity_t<Value>>> choices,
              const std::string& meaning) {
    std::string default_name;
    for (const auto& [word, meant] : choices) {
      if (meant == value) default_name = word;
    }
    add_choice<Value>(name, choices, meaning, default_name,
                      [&value](const Value& chosen) { value = chosen; });
  }

  /// One of a few words, without a default.
  template <class Value>
  void choice(const std::string& name, std::optional<Value>& value,
              std::initializer_list<Choice<std::type_identity_t<Value>>> choices,
              const std::string& meaning) {
    add_choice<Value>(name, choices, meaning, "",
                      [&value](const Value& chosen) { value = chosen; });
  }

  void flag(const std::string& name, bool& value, const std::string& meaning);

  /// --threads, from 1 to `MostThreads`.
  void threads(int& value,
               const std::string& meaning = "threads; they change the time, never the result");

  /// --config FILE: a TOML file of options; words of the command line come first.
  void config();

  /// @return false if help was asked for; it is on standard output then
  /// @throws InvalidArgument  an unknown option (names the nearest one), a bad value
  bool parse(std::span<const std::string> words);

  /// @throws InvalidArgument  if the path is empty: the option was not given
  void require(const std::string& name, const std::filesystem::path& value) const;

 private:
  template <class Value>
  void add_choice(const std::string& name, std::initializer_list<Choice<Value>> choices,
                  const std::string& meaning, const std::string& default_name,
                  std::function<void(const Value&)> take) {
    std::vector<Choice<Value>> list(choices);
    std::vector<std::string> names;
    for (const Choice<Value>& choice : list) names.emplace_back(choice.name);
    add(name, fmt::format("{}", fmt::join(names, "|")), meaning, default_name,
        [name, list, names, take](const std::string& word) {
          take(list[position_in(names, name, word)].value);
        });
  }

  void add(const std::string& name, const std::string& value_name, const std::string& meaning,
           const std::string& default_text, std::function<void(const std::string&)> take);
  void print_help() const;
  void parse_words(std::span<const std::string> words);
  [[noreturn]] void refuse_unknown(const std::string& where, const std::string& word) const;
  [[nodiscard]] std::vector<std::string> option_names() const;
  [[nodiscard]] static std::size_t position_in(std::span<const std::string> names,
                                               std::string_view option, const std::string& word);

  std::string command_;
  std::string group_ = "Options";
  std::unique_ptr<CLI::App> app_;
};

}  // namespace rcap::cli
