#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "study/plan_file.hpp"

namespace rcap {
namespace {

using RunsByName = std::map<std::string, const PlannedRun*>;

RunsByName by_name(const StudyPlan& plan) {
  RunsByName runs;
  for (const PlannedRun& run : plan.runs) runs.emplace(run.name, &run);
  return runs;
}

std::vector<std::string> names_only_in(const RunsByName& runs, const RunsByName& others) {
  std::vector<std::string> names;
  for (const auto& [name, run] : runs) {
    if (!others.contains(name)) names.push_back(name);
  }
  return names;
}

void tell_names(std::vector<std::string>& lines, const char* what,
                const std::vector<std::string>& names) {
  constexpr std::size_t Shown = 3;
  if (names.empty()) return;
  const std::vector<std::string> first(
      names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(Shown, names.size())));
  lines.push_back(fmt::format("{} runs {}: {}{}", names.size(), what, fmt::join(first, ", "),
                              names.size() > Shown ? ", ..." : ""));
}

std::string shown(const std::string& value) { return value.empty() ? "not set" : value; }

void tell_options(std::vector<std::string>& lines, const RunsByName& before,
                  const RunsByName& after) {
  using Change = std::pair<std::string, std::string>;  // the old and the new word of an option
  std::map<std::pair<std::string, Change>, int> changes;
  for (const auto& [name, run] : after) {
    const auto old = before.find(name);
    if (old == before.end()) continue;
    std::map<std::string, Change> words;
    for (const auto& [option, word] : words_of(old->second->options)) words[option].first = word;
    for (const auto& [option, word] : words_of(run->options)) words[option].second = word;
    for (const auto& entry : words) {
      if (entry.second.first != entry.second.second) ++changes[entry];
    }
  }
  for (const auto& [change, count] : changes) {
    const auto& [option, words] = change;
    lines.push_back(fmt::format("{} was {}, is now {} (in {} runs)", spell(option, Reader::File),
                                shown(words.first), shown(words.second), count));
  }
}

}  // namespace

std::vector<std::string> difference_of(const StudyPlan& before, const StudyPlan& after) {
  const RunsByName old_runs = by_name(before);
  const RunsByName new_runs = by_name(after);
  std::vector<std::string> lines;
  tell_names(lines, "are new", names_only_in(new_runs, old_runs));
  tell_names(lines, "are gone", names_only_in(old_runs, new_runs));
  tell_options(lines, old_runs, new_runs);
  return lines;
}

}  // namespace rcap
