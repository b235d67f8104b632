#include "cli/command_line.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <utility>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace rcap::cli {
namespace {

constexpr std::size_t HelpColumn = 34;
constexpr std::string_view ConfigExtrasPrefix = "INI was not able to parse ";

/// Help that leaves descriptions and footers as they are written.
class HelpFormatter final : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(HelpColumn); }

 private:
  std::string make_option_opts(const CLI::Option* option) const override {
    return option->get_type_size() == 0 ? "" : " " + option->get_type_name();
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    const std::string& default_text = option->get_default_str();
    return option->get_description() +
           (default_text.empty() ? "" : fmt::format(" [{}]", default_text));
  }
};

/// An option without its value, or one given twice.
std::string describe(const CLI::ArgumentMismatch& error) {
  const std::string_view what = error.what();
  const std::string_view name = what.substr(0, what.find(':'));
  const bool missing = what.ends_with("missing");
  return fmt::format("{}: {}", name, missing ? "its value is missing" : "is given more than once");
}

}  // namespace

CommandLine::CommandLine(std::string command, const std::string& summary, const std::string& footer)
    : command_(std::move(command)), app_(std::make_unique<CLI::App>(summary, "rcap " + command_)) {
  app_->formatter(std::make_shared<HelpFormatter>());
  app_->footer(footer);
  app_->set_help_flag("-h,--help", "this text")->group("");
  // Left-over words are refused by `parse`, which names the nearest option.
  app_->allow_extras();
  app_->allow_config_extras(CLI::config_extras_mode::error);
}

CommandLine::~CommandLine() = default;

void CommandLine::add(const std::string& name, const std::string& value_name,
                      const std::string& meaning, const std::string& default_text,
                      std::function<void(const std::string&)> take) {
  app_->add_option_function<std::string>(name, std::move(take), meaning)
      ->type_name(value_name)
      ->default_str(default_text)
      ->group(group_);
}

void CommandLine::path(const std::string& name, std::filesystem::path& value,
                       const std::string& value_name, const std::string& meaning) {
  add(name, value_name, meaning, value.string(), [&value, name](const std::string& word) {
    if (word.empty()) throw InvalidArgument(fmt::format("{} \"\": an empty file name", name));
    value = word;
  });
}

void CommandLine::flag(const std::string& name, bool& value, const std::string& meaning) {
  app_->add_flag(name, value, meaning)->group(group_);
}

void CommandLine::threads(int& value, const std::string& meaning) {
  add("--threads", "N", meaning, std::to_string(value), [&value](const std::string& word) {
    value = parse_number<int>("--threads", word);
    if (value < 1 || value > MostThreads) {
      throw InvalidArgument(
          fmt::format("--threads {} is out of range; it lies in 1 .. {}", value, MostThreads));
    }
  });
}

void CommandLine::config() {
  app_->set_config("--config", "", "a TOML file of options: pruning-rate = 0.9")
      ->type_name("FILE")
      ->group(group_);
}

bool CommandLine::parse(std::span<const std::string> words) {
  const auto is_help = [](const std::string& word) { return word == "--help" || word == "-h"; };
  if (std::any_of(words.begin(), words.end(), is_help)) {
    print_help();
    return false;
  }
  parse_words(words);
  const std::vector<std::string> unknown = app_->remaining();
  if (!unknown.empty()) refuse_unknown(command_, unknown.front());
  return true;
}

/// CLI11 sets two empty lines between groups and none before the usage.
void CommandLine::print_help() const {
  std::string help = app_->help();
  for (std::size_t at; (at = help.find("\n\n\n")) != std::string::npos;) help.erase(at, 1);
  help.insert(help.find("Usage:"), "\n");
  std::fputs(help.c_str(), stdout);
}

void CommandLine::parse_words(std::span<const std::string> words) {
  try {
    app_->parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ConfigError& error) {
    const std::string what = error.what();
    if (!what.starts_with(ConfigExtrasPrefix)) throw InvalidArgument("--config: " + what);
    refuse_unknown("--config", "--" + what.substr(ConfigExtrasPrefix.size()));
  } catch (const CLI::FileError&) {
    throw InvalidArgument(fmt::format("--config {}: there is no such file",
                                      app_->get_config_ptr()->as<std::string>()));
  } catch (const CLI::ArgumentMismatch& error) {
    throw InvalidArgument(fmt::format("{}; see rcap {} --help", describe(error), command_));
  } catch (const CLI::ParseError& error) {
    throw InvalidArgument(fmt::format("{}; see rcap {} --help", error.what(), command_));
  }
}

void CommandLine::refuse_unknown(const std::string& where, const std::string& word) const {
  if (!word.starts_with('-')) {
    throw InvalidArgument(
        fmt::format("{}: \"{}\" was not expected; see rcap {} --help", where, word, command_));
  }
  const std::string name = word.substr(0, word.find('='));
  throw InvalidArgument(fmt::format("{}: there is no option {}{}; see rcap {} --help", where, name,
                                    did_you_mean(name, option_names()), command_));
}

std::vector<std::string> CommandLine::option_names() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : std::as_const(*app_).get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

void CommandLine::require(const std::string& name, const std::filesystem::path& value) const {
  if (!value.empty()) return;
  throw InvalidArgument(
      fmt::format("{}: {} FILE is missing; see rcap {} --help", command_, name, command_));
}

std::size_t CommandLine::position_in(std::span<const std::string> names, std::string_view option,
                                     const std::string& word) {
  const auto found = std::find(names.begin(), names.end(), word);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  throw InvalidArgument(fmt::format("{} \"{}\" is none of {}{}", option, word,
                                    fmt::join(names, ", "), did_you_mean(word, names)));
}

}  // namespace rcap::cli
