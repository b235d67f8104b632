#include "cli/command_line.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "base/nearest_name.hpp"
#include "io/toml_options.hpp"

namespace rcap::cli {
namespace {

constexpr std::size_t HelpColumn = 34;

/// Help that prints descriptions and footers unchanged.
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
  app_->set_help_flag("-h,--help", "print this help")->group("");
  // Left-over words are refused by `parse`, which names the nearest option.
  app_->allow_extras();
  group("Options");
}

CommandLine::~CommandLine() = default;

void CommandLine::flag(std::string_view name, bool& value, std::string meaning) {
  on_off(name, value, std::move(meaning));
  wordless_.push_back(name);
}

void CommandLine::collect(const Option& option) {
  collect({std::string(option.name()), option.value_name(), std::string(option.meaning()),
           option.group(), option.word(), option.kind() == Option::Kind::Flag});
}

void CommandLine::collect(Collected option) {
  if (std::ranges::find(collected_, option.name, &Collected::name) != collected_.end()) return;
  option.place = all().size();
  collected_.push_back(std::move(option));
}

void CommandLine::threads(int& value, const std::string& meaning) {
  count("threads", value, "N", meaning, Range::between(1, 4096));
}

void CommandLine::config() {
  path("config", config_, "FILE", "a TOML file of options: pruning-rate = 0.9");
}

void CommandLine::add_to_app(const Option& option) {
  const std::string name = spell(option.name(), Reader::CommandLine);
  const std::string meaning(option.meaning());
  if (std::ranges::find(wordless_, option.name()) != wordless_.end()) {
    app_->add_flag_callback(
            name, [option] { option.set("on"); }, meaning)
        ->group(option.group());
    return;
  }
  app_->add_option_function<std::string>(
          name, [option](const std::string& word) { option.set(word, Reader::CommandLine); },
          meaning)
      ->type_name(option.value_name())
      ->default_str(option.word())
      ->group(option.group());
}

void CommandLine::add_to_app(const Collected& option) {
  const auto keep = [this, &option](const std::string& word) {
    given_.push_back({option.name, option.is_flag && word.empty() ? "on" : word});
  };
  CLI::Option* added = app_->add_option_function<std::string>(
      spell(option.name, Reader::CommandLine), keep, option.meaning);
  added->type_name(option.value_name)->group(option.heading);
  if (option.is_flag) {
    // Without a word it is on; CLI11 would use the default instead.
    added->expected(0, 1)->description(fmt::format("{} [{}]", option.meaning, option.default_word));
  } else {
    added->default_str(option.default_word);
  }
}

bool CommandLine::parse(std::span<const std::string> words) {
  auto next = collected_.begin();
  for (std::size_t place = 0; place <= all().size(); ++place) {
    for (; next != collected_.end() && next->place == place; ++next) add_to_app(*next);
    if (place < all().size()) add_to_app(all()[place]);
  }
  const auto is_help = [](const std::string& word) { return word == "--help" || word == "-h"; };
  if (std::any_of(words.begin(), words.end(), is_help)) {
    print_help();
    return false;
  }
  if (set_argument_ && !words.empty() && !words.front().starts_with('-')) {
    set_argument_(words.front());
    words = words.subspan(1);
  }
  parse_words(words);
  const std::vector<std::string> unknown = app_->remaining();
  if (!unknown.empty()) refuse_unknown(command_, unknown.front());
  if (has_config()) read_config();
  check(*this, Reader::CommandLine);
  return true;
}

/// CLI11 puts two empty lines between groups and none before the usage.
void CommandLine::print_help() const {
  std::string help = app_->help();
  for (std::size_t at; (at = help.find("\n\n\n")) != std::string::npos;) help.erase(at, 1);
  const std::string usage = "Usage: rcap " + command_;
  const std::size_t at = help.find(usage);
  if (!argument_name_.empty()) help.insert(at + usage.size(), " " + argument_name_);
  help.insert(at, "\n");
  std::fputs(help.c_str(), stdout);
}

void CommandLine::parse_words(std::span<const std::string> words) {
  try {
    app_->parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ArgumentMismatch& error) {
    throw InvalidArgument(describe(error) + see_help());
  } catch (const CLI::ParseError& error) {
    throw InvalidArgument(error.what() + see_help());
  }
}

void CommandLine::read_config() {
  if (!std::filesystem::exists(config_)) {
    throw InvalidArgument(fmt::format("--config {}: there is no such file", config_.string()));
  }
  for (const GivenOption& option : read_toml_options(config_)) {
    if (is_given(option.name)) continue;
    if (const Option* own = find(option.name)) {
      own->set(option.word, Reader::File);
    } else if (std::ranges::find(collected_, option.name, &Collected::name) != collected_.end()) {
      given_.push_back(option);
    } else {
      refuse_unknown("--config", spell(option.name, Reader::CommandLine));
    }
  }
}

bool CommandLine::is_given(const std::string& name) const {
  const CLI::Option* option = app_->get_option_no_throw(spell(name, Reader::CommandLine));
  return option != nullptr && option->count() > 0;
}

std::string CommandLine::see_help() const { return fmt::format("; see rcap {} --help", command_); }

void CommandLine::refuse_unknown(const std::string& where, const std::string& word) const {
  if (!word.starts_with('-')) {
    throw InvalidArgument(fmt::format("{}: \"{}\" was not expected{}", where, word, see_help()));
  }
  const std::string name = word.substr(0, word.find('='));
  std::vector<std::string> known = names(Reader::CommandLine);
  for (const Collected& option : collected_) {
    known.push_back(spell(option.name, Reader::CommandLine));
  }
  throw InvalidArgument(fmt::format("{}: there is no option {}{}{}", where, name,
                                    did_you_mean(name, known), see_help()));
}

void CommandLine::require(std::string_view name, const std::filesystem::path& value) const {
  if (!value.empty()) return;
  throw InvalidArgument(fmt::format("{}: {} FILE is missing{}", command_,
                                    spell(name, Reader::CommandLine), see_help()));
}

}  // namespace rcap::cli
