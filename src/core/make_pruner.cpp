#include "rcap/core/make_pruner.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/formatted.hpp"
#include "base/nearest_name.hpp"
#include "rcap/core/class_budget.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/pruners/static_pruner.hpp"
#include "rcap/core/pruners/top_loss_pruner.hpp"

namespace rcap {
namespace {

using Classes = const std::shared_ptr<const ClassIndex>&;

/// Of a method whose options are this member of `PrunerOptions`.
template <auto Member>
void list(OptionFields& fields, PrunerOptions& options) {
  list_options(fields, options.*Member);
}

template <class Kind, auto Member>
std::unique_ptr<Pruner> make(Classes classes, const PrunerOptions& options) {
  return std::make_unique<Kind>(classes, options.common, options.*Member);
}

template <class Kind>
std::unique_ptr<Pruner> make(Classes classes, const PrunerOptions& options) {
  return std::make_unique<Kind>(classes, options.common);
}

constexpr bool always(const PrunerOptions&) { return true; }
constexpr bool never(const PrunerOptions&) { return false; }
constexpr Budget no_budget(const PrunerOptions&) { return Budget::None; }

/// Of a method that chooses by scores: only strata are drawn from.
template <auto Member>
bool draws_strata(const PrunerOptions& options) {
  return (options.*Member).choose == ScoreChoice::Strata;
}

std::int64_t keep_count_of(const ClassIndex& classes, const CommonOptions& common) {
  return keep_count(classes.sample_count(), classes.filled_class_count(), common.pruning_rate);
}

std::span<const float> scores_of(std::string_view method, const ClassIndex& classes,
                                 const PrunerOptions& options) {
  if (std::cmp_not_equal(options.scores.size(), classes.sample_count())) {
    throw InvalidArgument(formatted(
        "{}: {} scores for {} samples; it chooses by one score per sample from a full training run",
        method, options.scores.size(), classes.sample_count()));
  }
  return options.scores;
}

FirstPass first_pass_of_rcap(const PrunerOptions& options) {
  return needs_initial_losses(options.rcap) ? FirstPass::Forward : FirstPass::None;
}

template <auto Member>
FirstPass first_pass_of_bandit(const PrunerOptions& options) {
  return (options.*Member).full_first_epoch ? FirstPass::Training : FirstPass::None;
}

std::unique_ptr<Pruner> make_full(Classes classes, const PrunerOptions& options) {
  // Keeps all, whatever rate is set: a run on everything is what others compare with.
  check_options(options.common);  // a rate out of range is still a mistake
  CommonOptions whole = options.common;
  whole.pruning_rate = 0;
  return std::make_unique<StaticPruner>("full", classes, whole,
                                        SampleSet::all(classes->sample_count()));
}

std::unique_ptr<Pruner> make_random(Classes classes, const PrunerOptions& options) {
  return std::make_unique<StaticPruner>(
      "random", classes, options.common,
      choose_random(classes->sample_count(), keep_count_of(*classes, options.common),
                    options.common.seed));
}

std::unique_ptr<Pruner> make_ccs(Classes classes, const PrunerOptions& options) {
  return std::make_unique<StaticPruner>(
      "ccs", classes, options.common,
      choose_ccs(scores_of("ccs", *classes, options), keep_count_of(*classes, options.common),
                 options.ccs, options.common.seed));
}

std::unique_ptr<Pruner> make_metriq(Classes classes, const PrunerOptions& options) {
  if (std::cmp_not_equal(options.recalls.size(), classes->class_count())) {
    throw InvalidArgument(formatted(
        "metriq: {} recalls for {} classes; it chooses by the recall of every class on held-out "
        "data",
        options.recalls.size(), classes->class_count()));
  }
  return std::make_unique<StaticPruner>(
      "metriq", classes, options.common,
      choose_metriq(*classes, options.recalls, keep_count_of(*classes, options.common),
                    options.metriq, options.common.seed));
}

template <auto Member>
std::unique_ptr<Pruner> make_scored(const char* method, Classes classes,
                                    const PrunerOptions& options) {
  return std::make_unique<StaticPruner>(
      method, classes, options.common,
      choose_by_score(*classes, scores_of(method, *classes, options),
                      keep_count_of(*classes, options.common), options.*Member,
                      options.common.seed));
}

std::unique_ptr<Pruner> make_tdds(Classes classes, const PrunerOptions& options) {
  return make_scored<&PrunerOptions::tdds>("tdds", classes, options);
}

std::unique_ptr<Pruner> make_el2n(Classes classes, const PrunerOptions& options) {
  return make_scored<&PrunerOptions::el2n>("el2n", classes, options);
}

std::unique_ptr<Pruner> make_forgetting(Classes classes, const PrunerOptions& options) {
  return make_scored<&PrunerOptions::forgetting>("forgetting", classes, options);
}

std::unique_ptr<Pruner> make_dyn_unc(Classes classes, const PrunerOptions& options) {
  return make_scored<&PrunerOptions::dyn_unc>("dyn-unc", classes, options);
}

std::unique_ptr<Pruner> make_dual(Classes classes, const PrunerOptions& options) {
  const std::size_t mean_count = options.mean_probabilities.size();
  if (options.dual.choose == DualChoice::Beta &&
      std::cmp_not_equal(mean_count, classes->sample_count())) {
    throw InvalidArgument(formatted(
        "dual: {} mean probabilities for {} samples; its draw needs one per sample beside the "
        "scores; without them set choose to top, strata or per-class",
        mean_count, classes->sample_count()));
  }
  return std::make_unique<StaticPruner>(
      "dual", classes, options.common,
      choose_dual(*classes, scores_of("dual", *classes, options), options.mean_probabilities,
                  keep_count_of(*classes, options.common), options.dual, options.common.seed));
}

constexpr std::array Methods{
    MethodInfo{
        .name = "rcap",
        .python_name = "RCAP",
        .summary =
            "splits the budget over classes by their losses, softmax(loss / beta) inside a class",
        .learns = always,
        .shards = true,
        .first_pass = first_pass_of_rcap,
        .takes_lengths = true,
        .windows = Windows::Rounds,
        .list_options = list<&PrunerOptions::rcap>,
        .make = make<RcapPruner, &PrunerOptions::rcap>,
    },
    MethodInfo{
        .name = "rs2",
        .python_name = "RS2",
        .summary = "a random subset each epoch, through the whole data set before any repeat",
        .shards = true,
        .takes_lengths = true,
        .windows = Windows::Plain,
        .make = make<Rs2Pruner, &PrunerOptions::rs2>,
    },
    MethodInfo{
        .name = "rs2-replace",
        .python_name = "RS2Replace",
        .summary = "a random subset each epoch, independent of the last",
        .shards = true,
        .takes_lengths = true,
        .windows = Windows::Plain,
        .list_options = list<&PrunerOptions::rs2_replace>,
        .make = make<Rs2Pruner, &PrunerOptions::rs2_replace>,
    },
    MethodInfo{
        .name = "infobatch",
        .python_name = "InfoBatch",
        .summary = "leaves out part of the samples below the mean loss, scales the rest",
        .learns = always,
        .shards = true,
        .budget = [](const PrunerOptions&) { return Budget::WholeRun; },
        .list_options = list<&PrunerOptions::infobatch>,
        .make = make<InfoBatchPruner, &PrunerOptions::infobatch>,
    },
    MethodInfo{
        .name = "ucb",
        .python_name = "UCB",
        .summary = "highest running mean plus variance of the loss, chosen every 10 epochs",
        .learns = always,
        .is_random = never,
        .shards = true,
        .first_pass = first_pass_of_bandit<&PrunerOptions::ucb>,
        .takes_lengths = true,
        .list_options = list<&PrunerOptions::ucb>,
        .make = make<BanditPruner, &PrunerOptions::ucb>,
    },
    MethodInfo{
        .name = "epsilon-greedy",
        .python_name = "EpsilonGreedy",
        .summary = "highest running mean of the loss, plus a random part",
        .learns = always,
        .first_pass = first_pass_of_bandit<&PrunerOptions::epsilon_greedy>,
        .takes_lengths = true,
        .list_options = list<&PrunerOptions::epsilon_greedy>,
        .make = make<BanditPruner, &PrunerOptions::epsilon_greedy>,
    },
    MethodInfo{
        .name = "top-loss",
        .python_name = "TopLoss",
        .summary = "the highest remembered losses, regardless of class",
        .learns = always,
        .is_random = never,
        .shards = true,
        .first_pass = [](const PrunerOptions&) { return FirstPass::Forward; },
        .takes_lengths = true,
        .make = make<TopLossPruner>,
    },
    MethodInfo{
        .name = "seta",
        .python_name = "SeTa",
        .summary = "a window of neighbouring losses that slides from easy to hard",
        .learns = always,
        .budget =
            [](const PrunerOptions& options) {
              return options.seta.budget ? Budget::EveryEpoch : Budget::None;
            },
        .list_options = list<&PrunerOptions::seta>,
        .make = make<SetaPruner, &PrunerOptions::seta>,
    },
    MethodInfo{
        .name = "kakurenbo",
        .python_name = "Kakurenbo",
        .summary = "hides samples of low loss that the network is sure of",
        .learns = always,
        .is_random = never,
        .refreshes = [](const PrunerOptions& options) { return options.kakurenbo.refresh; },
        .budget = no_budget,
        .list_options = list<&PrunerOptions::kakurenbo>,
        .make = make<KakurenboPruner, &PrunerOptions::kakurenbo>,
    },
    MethodInfo{
        .name = "dropout",
        .python_name = "Dropout",
        .summary = "drops samples that the network is sure of, or ever more at random",
        .learns = [](const PrunerOptions& options) { return reads_losses(options.dropout); },
        .is_random =
            [](const PrunerOptions& options) { return options.dropout.rule != DropoutRule::Dbpd; },
        .refreshes =
            [](const PrunerOptions& options) {
              return reads_losses(options.dropout) && options.dropout.refresh;
            },
        .budget = no_budget,
        .list_options = list<&PrunerOptions::dropout>,
        .make = make<DropoutPruner, &PrunerOptions::dropout>,
    },
    MethodInfo{
        .name = "ies",
        .python_name = "IES",
        .summary = "leaves a sample out while its loss curve is straight",
        .learns = always,
        .is_random = never,
        .refreshes = [](const PrunerOptions& options) { return options.ies.refresh; },
        .budget = no_budget,
        .list_options = list<&PrunerOptions::ies>,
        .make = make<IesPruner, &PrunerOptions::ies>,
    },
    MethodInfo{
        .name = "ccs",
        .python_name = "CCS",
        .summary = "covers the range of margins evenly after dropping the hardest",
        .is_static = true,
        .needs_scores = Scores::Margins,
        .list_options = list<&PrunerOptions::ccs>,
        .make = make_ccs,
    },
    MethodInfo{
        .name = "metriq",
        .python_name = "MetriQ",
        .summary = "classes in proportion to their error on held-out data",
        .is_static = true,
        .needs_scores = Scores::Recalls,
        .list_options = list<&PrunerOptions::metriq>,
        .make = make_metriq,
    },
    MethodInfo{
        .name = "tdds",
        .python_name = "TDDS",
        .summary = "the samples whose predictions vary most over training",
        .is_random = draws_strata<&PrunerOptions::tdds>,
        .is_static = true,
        .needs_scores = Scores::Divergences,
        .list_options = list<&PrunerOptions::tdds>,
        .make = make_tdds,
    },
    MethodInfo{
        .name = "el2n",
        .python_name = "EL2N",
        .summary = "the largest errors of the predicted probabilities early in training",
        .is_random = draws_strata<&PrunerOptions::el2n>,
        .is_static = true,
        .needs_scores = Scores::ErrorNorms,
        .list_options = list<&PrunerOptions::el2n>,
        .make = make_el2n,
    },
    MethodInfo{
        .name = "forgetting",
        .python_name = "Forgetting",
        .summary = "the samples that were classified right and then wrong most often",
        .is_random = draws_strata<&PrunerOptions::forgetting>,
        .is_static = true,
        .needs_scores = Scores::Forgetting,
        .list_options = list<&PrunerOptions::forgetting>,
        .make = make_forgetting,
    },
    MethodInfo{
        .name = "dyn-unc",
        .python_name = "DynUnc",
        .summary = "the samples whose probability of the true class varies most in a few epochs",
        .is_random = draws_strata<&PrunerOptions::dyn_unc>,
        .is_static = true,
        .needs_scores = Scores::Uncertainties,
        .list_options = list<&PrunerOptions::dyn_unc>,
        .make = make_dyn_unc,
    },
    MethodInfo{
        .name = "dual",
        .python_name = "DUAL",
        .summary = "uncertain and hard samples early in training, easier ones if more is pruned",
        .is_random =
            [](const PrunerOptions& options) {
              return options.dual.choose == DualChoice::Beta ||
                     options.dual.choose == DualChoice::Strata;
            },
        .is_static = true,
        .needs_scores = Scores::Dual,
        .list_options = list<&PrunerOptions::dual>,
        .make = make_dual,
    },
    MethodInfo{
        .name = "random",
        .python_name = "Random",
        .summary = "one random subset for the whole run",
        .is_static = true,
        .make = make_random,
    },
    MethodInfo{
        .name = "balanced",
        .python_name = "Balanced",
        .summary = "equal counts per class, or another class share; uniform inside a class",
        .learns = [](const PrunerOptions& options) { return learns(options.balanced); },
        .shards = true,
        .takes_lengths = true,
        .windows = Windows::Rounds,
        .list_options = list<&PrunerOptions::balanced>,
        .make = make<BalancedPruner, &PrunerOptions::balanced>,
    },
    MethodInfo{
        .name = "full",
        .python_name = "Full",
        .summary = "all samples, every epoch",
        .is_random = never,
        .is_static = true,
        .keeps_all = true,
        .takes_lengths = true,
        .make = make_full,
    },
};

/// "rcap, rs2 and balanced": the methods for which this holds.
template <class Holds>
std::string names_of(const Holds& holds) {
  std::vector<std::string_view> found;
  for (const MethodInfo& method : Methods) {
    if (holds(method)) found.push_back(method.name);
  }
  std::string names;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (i > 0) names += i + 1 == found.size() ? " and " : ", ";
    names += found[i];
  }
  return names;
}

/// "ucb and epsilon-greedy have it"; empty where no method has that option.
std::string owners_of(std::string_view option) {
  const auto has_it = [option](const MethodInfo& method) { return has_option(method, option); };
  std::string names = names_of(has_it);
  if (names.empty()) return names;
  return names + (std::ranges::count_if(Methods, has_it) == 1 ? " has it" : " have it");
}

[[noreturn]] void refuse_option(std::string_view name, const OptionFields& fields,
                                const MethodInfo& method, Reader reader) {
  const std::string spelled = spell(name, reader);
  if (const std::string owners = owners_of(name); !owners.empty()) {
    throw InvalidArgument(formatted("{} has no option {}; {}", method.name, spelled, owners));
  }
  throw InvalidArgument(
      formatted("there is no option {}{}", spelled, did_you_mean(spelled, fields.names(reader))));
}

}  // namespace

std::span<const MethodInfo> methods() noexcept { return Methods; }

const MethodInfo* find_method(std::string_view name) noexcept {
  const auto found = std::ranges::find(Methods, name, &MethodInfo::name);
  return found == Methods.end() ? nullptr : &*found;
}

const MethodInfo& require_method(std::string_view name) {
  if (const MethodInfo* method = find_method(name)) return *method;
  std::vector<std::string> names;
  std::string list;
  for (const MethodInfo& method : Methods) {
    names.emplace_back(method.name);
    list += formatted(" {}", method.name);
  }
  throw InvalidArgument(formatted("there is no method \"{}\"{}; the methods are{}", name,
                                  did_you_mean(name, names), list));
}

bool has_option(const MethodInfo& method, std::string_view option) {
  PrunerOptions options;
  OptionFields fields;
  list_window_options(fields, method, options);
  method.list_options(fields, options);
  return fields.find(option) != nullptr;
}

void list_window_options(OptionFields& fields, const MethodInfo& method, PrunerOptions& options) {
  if (method.windows == Windows::None) return;
  list_options(fields, options.common.windows, method.windows == Windows::Rounds);
}

void list_options(OptionFields& fields, const MethodInfo& method, PrunerOptions& options) {
  list_options(fields, options.common);
  list_window_options(fields, method, options);
  method.list_options(fields, options);
}

void set_options(const OptionFields& fields, const MethodInfo& method,
                 std::span<const GivenOption> given, Reader reader) {
  for (const GivenOption& option : given) {
    if (fields.find(option.name) == nullptr) refuse_option(option.name, fields, method, reader);
  }
  // Choices first, and then in the order of the list: whether an option applies can depend on them
  // and on those listed before it.
  for (const bool choices : {true, false}) {
    for (const Option& field : fields.all()) {
      if ((field.kind() == Option::Kind::Choice) != choices) continue;
      for (const GivenOption& option : given) {
        if (option.name == field.name()) field.set(option.word, reader);
      }
    }
  }
}

std::unique_ptr<Pruner> make_pruner(const MethodInfo& method, Classes classes,
                                    const PrunerOptions& options) {
  if (classes->has_lengths() && !method.takes_lengths) {
    throw InvalidArgument(
        formatted("lengths: {} counts samples, not tokens; {} take lengths", method.name,
                  names_of([](const MethodInfo& other) { return other.takes_lengths; })));
  }
  return method.make(classes, options);
}

std::unique_ptr<Pruner> make_pruner(std::string_view method, Classes classes,
                                    const PrunerOptions& options) {
  return make_pruner(require_method(method), classes, options);
}

std::string remark_on_budget(const Pruner& pruner, double pruning_rate, bool rate_was_given) {
  const std::int64_t token_count = pruner.classes().token_count();
  const std::int64_t wanted = keep_count(token_count, 1, pruning_rate);
  const MethodInfo& method = require_method(pruner.method());
  if (!pruner.follows_rate()) {
    if (!rate_was_given) return {};
    return formatted(
        "{} trains on what its own rule leaves: with these options the pruning rate "
        "has no effect",
        method.name);
  }
  const std::vector<std::string> options = pruner.options();
  const bool has_window = method.windows != Windows::None &&
                          std::ranges::any_of(options, [](const std::string& option) {
                            return option.starts_with("window=");
                          });
  if (method.keeps_all || has_window || pruner.keep_tokens() <= wanted) return {};
  return formatted(
      "a pruning rate of {} would keep {} of {} {}, fewer than there are classes: {} are "
      "kept, one per class; choose a smaller rate, or fewer classes",
      pruning_rate, wanted, token_count, pruner.classes().has_lengths() ? "tokens" : "samples",
      pruner.keep_tokens());
}

}  // namespace rcap
