#include <algorithm>
#include <string>
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
  std::string default_word;  ///< empty if the owners differ
};

std::vector<SharedOption> list_by_name(PrunerOptions& defaults) {
  std::vector<SharedOption> list;
  for (const MethodInfo& method : methods()) {
    OptionFields fields;
    method.list_options(fields, defaults);
    for (const Option& option : fields.all()) {
      const auto known = std::ranges::find_if(
          list, [&](const SharedOption& other) { return other.option.name() == option.name(); });
      if (known == list.end()) {
        list.push_back({option, {method.name}, option.is_required() ? "" : option.word()});
        continue;
      }
      known->owners.push_back(method.name);
      if (known->default_word != option.word()) known->default_word.clear();
    }
  }
  return list;
}

}  // namespace

void collect_method_options(CommandLine& line) {
  PrunerOptions defaults;
  std::vector<SharedOption> list = list_by_name(defaults);
  std::ranges::stable_sort(list, {}, [&](const SharedOption& shared) {
    return std::ranges::find(list, shared.owners, &SharedOption::owners) - list.begin();
  });
  for (const SharedOption& shared : list) {
    const std::string heading = fmt::format("Method{} {}", shared.owners.size() > 1 ? "s" : "",
                                            fmt::join(shared.owners, " and "));
    line.collect(shared.option, heading, shared.default_word);
  }
}

}  // namespace rcap::cli
