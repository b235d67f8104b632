#include "study/scoring_runs.hpp"

#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>

#include "rcap/core/error.hpp"
#include "rcap/core/make_pruner.hpp"
#include "train/score_kinds.hpp"

namespace rcap {
namespace {

/// Runs that share a scoring run.
struct Family {
  std::string name;
  TrainOptions options;               ///< of the scoring run
  std::vector<GivenOption> training;  ///< what they have in common
  std::set<std::string> settled{};    ///< options of scoring that one of them reads
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
  for (const ScoreOption& option : score_options()) options.*option.value = plain.*option.value;
  return options;
}

void require_equal(const PlannedRun& run, const std::string& name, std::int64_t value,
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
  for (const ScoreOption& option : score_options()) {
    if (!reads(require_method(run.options.method), option)) continue;
    const std::int64_t value = run.options.*option.value;
    std::int64_t& shared = family.options.*option.value;
    if (!family.settled.insert(option.name).second) {
      require_equal(run, spell(option.name, Reader::File), value, shared);
    }
    shared = value;
  }
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
