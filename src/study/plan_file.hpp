#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "study/study_folder.hpp"

namespace rcap {

/// What a plan leaves open, because it depends on the machine.
struct PlanDefaults {
  int threads = 1;                  ///< of each run
  std::filesystem::path data_root;  ///< what relative paths are relative to
};

/// Reads a plan: data sets x methods x pruning rates x betas x seeds.
///
///     title = "Fashion-MNIST, long-tailed"
///     seeds = [0, 27, 100]
///     pruning-rates = [0.7, 0.9]
///     betas = [0.5, 1, 2]              # optional; rcap is run once for each
///     reference = "rcap"               # optional; what the others are compared with
///     methods = ["full", "rs2", "rcap",
///                {name = "rcap mass", method = "rcap", class-share = "mass"}]
///
///     [options]                        # of every run, as `rcap train` names them
///     epochs = 20
///
///     [[datasets]]
///     name = "long-tailed 100"
///     dataset = "fashion-mnist"
///     imbalance = 100
///     pruning-rates = [0.9]            # optional; instead of those above
///
/// A method's options take precedence over those of its data set, and those over [options]. The
/// default name of an entry is its method, preset or data set. "full", and methods
/// whose own rule decides how many samples are left, are run once per seed, not for each rate.
/// Methods that select by scores share one scoring run per data set and seed.
///
/// @throws BadFile          the file cannot be read, or is not TOML: names line and column
/// @throws InvalidArgument  an unknown key or option (names the nearest one), a value out of
///                          range, a run that is planned twice, a plan without runs
[[nodiscard]] StudyPlan read_plan_file(const std::filesystem::path& path,
                                       const PlanDefaults& defaults);

/// How two plans differ, in a few lines of text; empty if they do not.
[[nodiscard]] std::vector<std::string> difference_of(const StudyPlan& before,
                                                     const StudyPlan& after);

}  // namespace rcap
