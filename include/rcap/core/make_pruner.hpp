#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "rcap/core/export.hpp"
#include "rcap/core/options.hpp"
#include "rcap/core/pruner.hpp"
#include "rcap/core/pruners/balanced_pruner.hpp"
#include "rcap/core/pruners/bandit_pruner.hpp"
#include "rcap/core/pruners/dropout_pruner.hpp"
#include "rcap/core/pruners/ies_pruner.hpp"
#include "rcap/core/pruners/infobatch_pruner.hpp"
#include "rcap/core/pruners/kakurenbo_pruner.hpp"
#include "rcap/core/pruners/rcap_pruner.hpp"
#include "rcap/core/pruners/seta_pruner.hpp"
#include "rcap/core/pruners/uniform_pruners.hpp"
#include "rcap/core/static_selection.hpp"

RCAP_API_BEGIN
namespace rcap {

/// The options of every method, with their defaults. A method reads the common ones and
/// its own.
struct PrunerOptions {
  CommonOptions common;
  RcapOptions rcap;
  InfoBatchOptions infobatch;
  SetaOptions seta;
  KakurenboOptions kakurenbo;
  DropoutOptions dropout;
  IesOptions ies;
  BanditOptions ucb = BanditOptions::ucb();
  BanditOptions epsilon_greedy = BanditOptions::epsilon_greedy();
  Rs2Options rs2;
  Rs2Options rs2_replace{.replacement = true};
  BalancedOptions balanced;
  CcsOptions ccs;
  MetriqOptions metriq;
  ScoreOptions tdds;
  ScoreOptions el2n;
  ScoreOptions forgetting;
  ScoreOptions dyn_unc;
  DualOptions dual;
  std::vector<float> scores;              ///< per sample, for methods that choose by `Scores`
  std::vector<float> mean_probabilities;  ///< per sample, for dual's draw
  std::vector<double> recalls;            ///< per class, for methods that choose by `Recalls`
};

/// What a method chooses by, if that takes a training run on everything.
enum class Scores {
  None,
  Margins,        ///< `MarginScorer`, one per sample
  Divergences,    ///< `DivergenceScorer`, one per sample
  Recalls,        ///< `RecallScorer`, one per class
  ErrorNorms,     ///< `El2nScorer`, one per sample
  Forgetting,     ///< `ForgettingScorer`, one per sample
  Uncertainties,  ///< `UncertaintyScorer::uncertainties`, one per sample
  Dual,           ///< `UncertaintyScorer::dual_scores`, one per sample, with `mean_probabilities`
};

/// What a run does before it prunes.
enum class FirstPass {
  None,
  Forward,   ///< a forward pass over everything
  Training,  ///< an epoch on everything
};

/// How a method meets the pruning rate.
enum class Budget {
  EveryEpoch,  ///< it keeps `keep_count` samples in every epoch that it prunes
  WholeRun,    ///< by the end of the run, if it is told the batch size
  None,        ///< not at all: its own rule decides how many samples are left
};

/// Whether a method can select windows (`WindowOptions`).
enum class Windows {
  None,
  Plain,   ///< of a size
  Rounds,  ///< and unseen samples first
};

/// What the rest of the program knows about a method: its row in `make_pruner.cpp`.
struct MethodInfo {
  std::string_view name;         ///< "rs2-replace"
  std::string_view python_name;  ///< of its class in Python: "RS2Replace"
  std::string_view summary;      ///< one line
  // Functions of its options, if they can depend on them:
  using Holds = bool (*)(const PrunerOptions&);
  Holds learns = [](const PrunerOptions&) { return false; };     ///< `Pruner::learns`
  Holds is_random = [](const PrunerOptions&) { return true; };   ///< by seed, other samples
  Holds refreshes = [](const PrunerOptions&) { return false; };  ///< `Pruner::refreshes`
  bool is_static = false;  ///< chooses once: the same subset every epoch
  bool shards = false;     ///< can select from a data set that is cut into shards
  bool keeps_all = false;  ///< prunes nothing: the baseline for the others
  Budget (*budget)(const PrunerOptions&) = [](const PrunerOptions&) { return Budget::EveryEpoch; };
  Scores needs_scores = Scores::None;
  FirstPass (*first_pass)(const PrunerOptions&) = [](const PrunerOptions&) {
    return FirstPass::None;
  };
  bool takes_lengths = false;  ///< its budget can be in tokens (`ClassIndex::with_lengths`)
  Windows windows = Windows::None;
  /// Lists its own options, not the common ones.
  void (*list_options)(OptionFields&, PrunerOptions&) = [](OptionFields&, PrunerOptions&) {};
  std::unique_ptr<Pruner> (*make)(const std::shared_ptr<const ClassIndex>&, const PrunerOptions&);
};

/// All methods, in the order in which they are shown.
[[nodiscard]] std::span<const MethodInfo> methods() noexcept;

/// The method of that name, or nullptr.
[[nodiscard]] const MethodInfo* find_method(std::string_view name) noexcept;

/// The method of that name.
/// @throws InvalidArgument  there is none; lists all and suggests the nearest
const MethodInfo& require_method(std::string_view name);

/// Whether a method has an option of its own of that name.
[[nodiscard]] bool has_option(const MethodInfo& method, std::string_view option);

/// Lists the options that windows have with a method.
void list_window_options(OptionFields& fields, const MethodInfo& method, PrunerOptions& options);

/// Lists the common options, those of windows and those of a method.
void list_options(OptionFields& fields, const MethodInfo& method, PrunerOptions& options);

/// Sets the options that were given.
/// @param fields  all options: the common ones, those of `method` and any of the caller's
/// @throws InvalidArgument  an option that the method does not have (names the methods that do) or
///                          that none has (suggests the nearest), or a word it does not accept
void set_options(const OptionFields& fields, const MethodInfo& method,
                 std::span<const GivenOption> given, Reader reader);

/// Makes a pruner.
/// @throws InvalidArgument  an option out of range, missing scores or recalls, or lengths of
/// samples
///                          for a method that does not take any (names those that do)
[[nodiscard]] std::unique_ptr<Pruner> make_pruner(const MethodInfo& method,
                                                  const std::shared_ptr<const ClassIndex>& classes,
                                                  const PrunerOptions& options);

/// The same by the name of the method.
/// @throws InvalidArgument  also an unknown name (lists the known ones)
[[nodiscard]] std::unique_ptr<Pruner> make_pruner(std::string_view method,
                                                  const std::shared_ptr<const ClassIndex>& classes,
                                                  const PrunerOptions& options);

/// A remark for the user on how many samples are kept: every class keeps at least one, so with many
/// classes more is kept than was asked for; and some methods do not follow the rate at all. Empty
/// if there is nothing to say.
/// @param rate_was_given  whether the user chose the rate
[[nodiscard]] std::string remark_on_budget(const Pruner& pruner, double pruning_rate,
                                           bool rate_was_given = true);

}  // namespace rcap
RCAP_API_END
