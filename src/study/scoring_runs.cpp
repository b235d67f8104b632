#include "study/scoring_runs.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rcap/core/error.hpp"
#include "rcap/core/make_pruner.hpp"
#include "study/option_list.hpp"

namespace rcap {
namespace {

/// Options of the selection, which a training on everything does not have.
const std::set<std::string> SelectionOptions{"method", "pruning-rate", "hard-cutoff", "strata",
                                             "quota",  "score-epochs", "score-window"};
/// What the scoring run hears of tdds.
const std::vector<std::string> ListeningOptions{"score-epochs", "score-window"};

/// Runs that share a scoring run.
struct Family {
  std::vector<NamedOption> options;  ///< of the training, the selection left out
  std::map<std::string, std::string> listening;
  std::set<std::string> methods;
  std::string name;
};

bool needs_scores(const PlannedRun& run) {
  const MethodInfo* method = find_method(value_of(run.options, "method"));
  const bool scored = method != nullptr && (method->needs_scores || method->needs_recalls);
  return scored && value_of(run.options, "scores").empty();
}

std::vector<NamedOption> training_options(const PlannedRun& run) {
  std::vector<NamedOption> options;
  std::ranges::copy_if(run.options, std::back_inserter(options), [](const NamedOption& option) {
    return !SelectionOptions.contains(option.first);
  });
  return options;
}

void join(Family& family, const PlannedRun& run) {
  family.methods.insert(value_of(run.options, "method"));
  for (const std::string& name : ListeningOptions) {
    const std::string value = value_of(run.options, name);
    if (value.empty()) continue;
    const auto [known, added] = family.listening.emplace(name, value);
    if (added || known->second == value) continue;
    throw InvalidArgument(fmt::format(
        "{}: {} is {} here and {} in another run that would share its scoring run; give one of "
        "them scores of its own with scores = FILE",
        run.name, name, value, known->second));
  }
}

/// "lt100-scoring-seed-0", with a number behind it where there is another one.
std::string name_of_family(const std::vector<Family>& families, const PlannedRun& run) {
  const std::string plain =
      fmt::format("{}-scoring-seed-{}", as_file_name(run.dataset), value_of(run.options, "seed"));
  std::string name = plain;
  for (int i = 2; std::ranges::find(families, name, &Family::name) != families.end(); ++i) {
    name = fmt::format("{}-{}", plain, i);
  }
  return name;
}

PlannedRun scoring_run(const Family& family, const PlannedRun& first,
                       const ResolveOptions& resolve) {
  PlannedRun run;
  run.name = family.name;
  run.dataset = first.dataset;
  run.method = "scoring";
  run.makes_scores = true;
  std::vector<NamedOption> given = unquoted(family.options);
  given.insert(given.end(), family.listening.begin(), family.listening.end());
  given.emplace_back("make-scores", fmt::format("{}", fmt::join(family.methods, ",")));
  run.options = resolve(given);
  return run;
}

}  // namespace

std::vector<PlannedRun> with_scoring_runs(std::vector<PlannedRun> runs,
                                          const ResolveOptions& resolve) {
  std::vector<Family> families;
  for (PlannedRun& run : runs) {
    if (!needs_scores(run)) continue;
    const auto options = training_options(run);
    auto family = std::ranges::find(families, options, &Family::options);
    if (family == families.end()) {
      families.push_back({options, {}, {}, name_of_family(families, run)});
      family = families.end() - 1;
    }
    join(*family, run);
    run.scores_from = family->name;
  }
  std::vector<PlannedRun> all;
  std::set<std::string> added;
  for (PlannedRun& run : runs) {
    if (!run.scores_from.empty() && added.insert(run.scores_from).second) {
      const auto family = std::ranges::find(families, run.scores_from, &Family::name);
      all.push_back(scoring_run(*family, run, resolve));
    }
    all.push_back(std::move(run));
  }
  return all;
}

}  // namespace rcap
