#include "study/scoring_runs.hpp"

#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>

#include "rcap/core/error.hpp"
#include "rcap/core/make_pruner.hpp"

namespace rcap {
namespace {

/// Runs that share a scoring run.
struct Family {
  std::string name;
  TrainOptions options;               ///< of the scoring run
  std::vector<GivenOption> training;  ///< what they have in common
  bool listens = false;               ///< to the epochs that `options` sets, for tdds
};

bool needs_scores(const PlannedRun& run) {
  return require_method(run.options.method).needs_scores != Scores::None &&
         run.options.scores.empty();
}

/// The training of a run, without how it selects and how its scores are made.
TrainOptions training_of(const PlannedRun& run) {
  const TrainOptions plain;
  TrainOptions options = run.options;
  options.make_scores = {options.method};
  options.method = plain.method;
  options.pruner = plain.pruner;
  options.meet_rate = plain.meet_rate;
  options.score_epochs = plain.score_epochs;
  options.score_window = plain.score_window;
  return options;
}

void require_equal(const PlannedRun& run, const char* name, std::int64_t value,
                   std::int64_t other) {
  if (value == other) return;
  throw InvalidArgument(fmt::format(
      "{}: {} is {} here and {} in another run that would share its scoring run; give one of them "
      "its own scores with scores = FILE",
      run.name, name, value, other));
}

void join(Family& family, const PlannedRun& run) {
  auto& methods = family.options.make_scores;
  if (std::ranges::find(methods, run.options.method) == methods.end()) {
    methods.insert(std::ranges::lower_bound(methods, run.options.method), run.options.method);
  }
  if (require_method(run.options.method).needs_scores != Scores::Divergences) return;
  if (family.listens) {
    require_equal(run, "score-epochs", run.options.score_epochs, family.options.score_epochs);
    require_equal(run, "score-window", run.options.score_window, family.options.score_window);
  }
  family.listens = true;
  family.options.score_epochs = run.options.score_epochs;
  family.options.score_window = run.options.score_window;
}

/// "lt100-scoring-seed-0", with a number appended if the name is taken.
std::string name_of_family(const std::vector<Family>& families, const PlannedRun& run) {
  const std::string plain =
      fmt::format("{}-scoring-seed-{}", as_file_name(run.dataset), run.options.seed);
  std::string name = plain;
  for (int i = 2; std::ranges::find(families, name, &Family::name) != families.end(); ++i) {
    name = fmt::format("{}-{}", plain, i);
  }
  return name;
}

Family& family_of(std::vector<Family>& families, const PlannedRun& run) {
  TrainOptions options = training_of(run);
  std::vector<GivenOption> training = words_of(options);
  std::erase_if(training, [](const GivenOption& word) { return word.name == "make_scores"; });
  const auto known = std::ranges::find(families, training, &Family::training);
  if (known != families.end()) return *known;
  families.push_back({name_of_family(families, run), std::move(options), std::move(training)});
  return families.back();
}

PlannedRun scoring_run(const Family& family, const PlannedRun& first) {
  PlannedRun run;
  run.name = family.name;
  run.dataset = first.dataset;
  run.method = "scoring";
  run.makes_scores = true;
  run.options = family.options;
  return run;
}

}  // namespace

std::vector<PlannedRun> with_scoring_runs(std::vector<PlannedRun> runs) {
  std::vector<Family> families;
  for (PlannedRun& run : runs) {
    if (!needs_scores(run)) continue;
    Family& family = family_of(families, run);
    join(family, run);
    run.scores_from = family.name;
  }
  std::vector<PlannedRun> all;
  std::set<std::string> added;
  for (PlannedRun& run : runs) {
    if (!run.scores_from.empty() && added.insert(run.scores_from).second) {
      all.push_back(scoring_run(*std::ranges::find(families, run.scores_from, &Family::name), run));
    }
    all.push_back(std::move(run));
  }
  return all;
}

}  // namespace rcap
