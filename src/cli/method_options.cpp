#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/command_line.hpp"
#include "rcap/core/make_pruner.hpp"

namespace rcap::cli {
namespace {

/// An option, and the methods that have it.
struct SharedOption {
  Option option;
  std::vector<std::string_view> owners;
  CommandLine::Collected help;

  SharedOption(const Option& first, std::string_view owner)
      : option(first),
        owners{owner},
        help{.name = std::string(first.name()),
             .value_name = first.value_name(),
             .meaning = std::string(first.meaning()),
             .heading = {},
             .default_word = default_of(first),
             .is_flag = first.kind() == Option::Kind::Flag} {}

  /// Adds another owner; the help names it if the option is not the same there.
  void add_owner(std::string_view method, const Option& other) {
    owners.push_back(method);
    if (default_of(other) != default_of(option)) {
      help.default_word += fmt::format("; {}: {}", method, default_of(other));
    }
    if (help.meaning.find(other.meaning()) == std::string::npos) {
      help.meaning += fmt::format("; {}: {}", method, other.meaning());
    }
    for (const std::string& word : other.words()) {
      if (std::ranges::count(option.words(), word) == 0) help.value_name += "|" + word;
    }
  }

  static std::string default_of(const Option& of) { return of.is_required() ? "" : of.word(); }
};

std::vector<SharedOption> list_by_name(PrunerOptions& defaults, WithWindows windows) {
  std::vector<SharedOption> list;
  for (const MethodInfo& method : methods()) {
    OptionFields fields;
    if (windows == WithWindows::Yes) list_window_options(fields, method, defaults);
    method.list_options(fields, defaults);
    for (const Option& option : fields.all()) {
      const auto known = std::ranges::find_if(
          list, [&](const SharedOption& other) { return other.option.name() == option.name(); });
      if (known == list.end()) {
        list.emplace_back(option, method.name);
      } else {
        known->add_owner(method.name, option);
      }
    }
  }
  return list;
}

}  // namespace

void collect_method_options(CommandLine& line, WithWindows windows) {
  PrunerOptions defaults;
  std::vector<SharedOption> list = list_by_name(defaults, windows);
  std::ranges::stable_sort(list, {}, [&](const SharedOption& shared) {
    return std::ranges::find(list, shared.owners, &SharedOption::owners) - list.begin();
  });
  for (SharedOption& shared : list) {
    shared.help.heading = fmt::format("Method{} {}", shared.owners.size() > 1 ? "s" : "",
                                      fmt::join(shared.owners, " and "));
    line.collect(std::move(shared.help));
  }
}

}  // namespace rcap::cli
