#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rcap/core/error.hpp"
#include "rcap/core/options.hpp"

namespace CLI {
class App;
}

namespace rcap::cli {

/// The options of one command: bound to variables that hold their defaults, then parsed. The help
/// comes from the same list.
///
///     CommandLine line("select", "Selects samples.", "Example: ...");
///     line.group("Data");
///     line.path("labels", arguments.labels, "FILE", "class of every sample (.npy)");
///     if (!line.parse(words)) return;      // help was asked for, and printed
///
/// The variables must live until `parse` has returned.
class CommandLine : public OptionFields {
 public:
  CommandLine(std::string command, const std::string& summary, const std::string& footer);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// The word directly after the command, which may be left out: "PLAN.toml".
  /// @param value  a string or a path
  template <class Value>
  void argument(std::string name, Value& value) {
    argument_name_ = std::move(name);
    set_argument_ = [&value](const std::string& word) { value = word; };
  }

  /// An option without a word: given or not.
  void flag(std::string_view name, bool& value, std::string meaning);
  /// An option with the word on or off.
  void on_off(std::string_view name, bool& value, std::string meaning) {
    OptionFields::flag(name, value, std::move(meaning));
  }

  /// An option whose words are only collected; the rest is for the help.
  struct Collected {
    std::string name, value_name, meaning, heading, default_word;
    bool is_flag = false;
    std::size_t place = 0;  ///< how many of the listed ones come before it; set by `collect`
  };

  /// Options whose words are only collected, for the caller to interpret. The first
  /// one of a name counts.
  void collect(const Option& option);
  void collect(Collected option);
  void collect(const OptionFields& fields) {
    for (const Option& option : fields.all()) collect(option);
  }
  /// Those that were given, on the command line or otherwise in --config.
  [[nodiscard]] std::span<const GivenOption> given() const noexcept { return given_; }

  /// --threads, from 1 to 4096.
  void threads(int& value, const std::string& meaning =
                               "number of threads; changes the time, never the result");

  /// --config FILE: a TOML file of options; the command line takes precedence.
  void config();
  [[nodiscard]] bool has_config() const noexcept { return !config_.empty(); }

  /// @return false if help was asked for, which has then been printed
  /// @throws InvalidArgument  an unknown option (names the nearest one), a bad value
  bool parse(std::span<const std::string> words);

  /// @throws InvalidArgument  if the path is empty: the option was not given
  void require(std::string_view name, const std::filesystem::path& value) const;

 private:
  void add_to_app(const Option& option);
  void add_to_app(const Collected& option);
  void print_help() const;
  void parse_words(std::span<const std::string> words);
  void read_config();
  [[nodiscard]] bool is_given(const std::string& name) const;
  [[nodiscard]] std::string see_help() const;
  [[noreturn]] void refuse_unknown(const std::string& where, const std::string& word) const;

  std::string command_;
  std::string argument_name_;  ///< empty: there is none
  std::function<void(const std::string&)> set_argument_;
  std::vector<std::string_view> wordless_;  ///< names of options without a word
  std::vector<Collected> collected_;
  std::vector<GivenOption> given_;
  std::filesystem::path config_;
  std::unique_ptr<CLI::App> app_;
};

/// Whether a command can select windows.
enum class WithWindows { No, Yes };

/// Collects the options of all methods that the command line does not collect yet, with options of
/// the same methods under one heading.
void collect_method_options(CommandLine& line, WithWindows windows);

}  // namespace rcap::cli
