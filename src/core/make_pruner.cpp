#include "rcap/core/make_pruner.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/formatted.hpp"
#include "rcap/core/class_budget.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/pruners/static_pruner.hpp"

namespace rcap {
namespace {

using Classes = std::shared_ptr<const ClassIndex>;

std::int64_t keep_count_of(const ClassIndex& classes, const CommonOptions& common) {
  return keep_count(classes.sample_count(), classes.class_count(), common.pruning_rate);
}

std::unique_ptr<Pruner> make_rs2(Classes classes, const PrunerOptions& options, bool replacement) {
  return std::make_unique<Rs2Pruner>(std::move(classes), options.common,
                                     Rs2Options{replacement, options.rs2_stratified});
}

std::unique_ptr<Pruner> make_static(std::string_view method, Classes classes,
                                    const PrunerOptions& options, SampleSet chosen) {
  return std::make_unique<StaticPruner>(std::string(method), std::move(classes), options.common,
                                        std::move(chosen));
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

std::unique_ptr<Pruner> make_full(Classes classes, const PrunerOptions& options) {
  // Keeps all, whatever rate is set: a run on everything is what others compare with.
  (void)keep_count_of(*classes, options.common);  // a rate out of range is still a mistake
  PrunerOptions whole = options;
  whole.common.pruning_rate = 0;
  SampleSet everything = SampleSet::all(classes->sample_count());
  return make_static("full", std::move(classes), whole, std::move(everything));
}

std::unique_ptr<Pruner> make_random(Classes classes, const PrunerOptions& options) {
  SampleSet chosen = choose_random(classes->sample_count(), keep_count_of(*classes, options.common),
                                   options.common.seed);
  return make_static("random", std::move(classes), options, std::move(chosen));
}

std::unique_ptr<Pruner> make_ccs(Classes classes, const PrunerOptions& options) {
  SampleSet chosen =
      choose_ccs(scores_of("ccs", *classes, options), keep_count_of(*classes, options.common),
                 options.ccs, options.common.seed);
  return make_static("ccs", std::move(classes), options, std::move(chosen));
}

std::unique_ptr<Pruner> make_metriq(Classes classes, const PrunerOptions& options) {
  if (std::cmp_not_equal(options.recalls.size(), classes->class_count())) {
    throw InvalidArgument(formatted(
        "metriq: {} recalls for {} classes; it chooses by the recall of every class on held-out "
        "data",
        options.recalls.size(), classes->class_count()));
  }
  SampleSet chosen =
      choose_metriq(*classes, options.recalls, keep_count_of(*classes, options.common),
                    options.metriq, options.common.seed);
  return make_static("metriq", std::move(classes), options, std::move(chosen));
}

std::unique_ptr<Pruner> make_tdds(Classes classes, const PrunerOptions& options) {
  SampleSet chosen =
      choose_tdds(scores_of("tdds", *classes, options), keep_count_of(*classes, options.common));
  return make_static("tdds", std::move(classes), options, std::move(chosen));
}

struct Method {
  MethodInfo info;
  std::unique_ptr<Pruner> (*make)(Classes, const PrunerOptions&);
};

constexpr std::array Methods{
    Method{{"rcap", "budget over classes by their losses, softmax(loss / beta) inside a class",
            false, false, false},
           [](Classes c, const PrunerOptions& o) -> std::unique_ptr<Pruner> {
             return std::make_unique<RcapPruner>(std::move(c), o.common, o.rcap);
           }},
    Method{{"rs2", "a random subset each epoch, through the whole data before any repeat", false,
            false, false},
           [](Classes c, const PrunerOptions& o) { return make_rs2(std::move(c), o, false); }},
    Method{
        {"rs2-replace", "a random subset each epoch, independent of the last", false, false, false},
        [](Classes c, const PrunerOptions& o) { return make_rs2(std::move(c), o, true); }},
    Method{{"infobatch", "leaves out part of the samples below the mean loss, scales the rest",
            false, false, false},
           [](Classes c, const PrunerOptions& o) -> std::unique_ptr<Pruner> {
             return std::make_unique<InfoBatchPruner>(std::move(c), o.common, o.infobatch);
           }},
    Method{{"ucb", "highest running mean plus variance of the loss, chosen every 10 epochs", false,
            false, false},
           [](Classes c, const PrunerOptions& o) -> std::unique_ptr<Pruner> {
             return std::make_unique<BanditPruner>(std::move(c), o.common, o.ucb);
           }},
    Method{{"epsilon-greedy", "highest running mean of the loss and a random part", false, false,
            false},
           [](Classes c, const PrunerOptions& o) -> std::unique_ptr<Pruner> {
             return std::make_unique<BanditPruner>(std::move(c), o.common, o.epsilon_greedy);
           }},
    Method{
        {"ccs", "covers the range of margins evenly after dropping the hardest", true, true, false},
        make_ccs},
    Method{{"metriq", "classes in proportion to their error on held-out data", true, false, true},
           make_metriq},
    Method{{"tdds", "the samples whose predictions vary most over training", true, true, false},
           make_tdds},
    Method{{"random", "one random subset for the whole run", true, false, false}, make_random},
    Method{{"balanced", "equal counts per class, uniform inside a class", false, false, false},
           [](Classes c, const PrunerOptions& o) -> std::unique_ptr<Pruner> {
             return std::make_unique<BalancedPruner>(std::move(c), o.common);
           }},
    Method{{"full", "all samples, every epoch", true, false, false}, make_full},
};

constexpr auto MethodInfos = [] {
  std::array<MethodInfo, Methods.size()> infos;
  std::ranges::transform(Methods, infos.begin(), &Method::info);
  return infos;
}();

}  // namespace

std::span<const MethodInfo> methods() noexcept { return MethodInfos; }

const MethodInfo* find_method(std::string_view name) noexcept {
  const auto found = std::ranges::find(MethodInfos, name, &MethodInfo::name);
  return found == MethodInfos.end() ? nullptr : &*found;
}

std::unique_ptr<Pruner> make_pruner(std::string_view method,
                                    std::shared_ptr<const ClassIndex> classes,
                                    const PrunerOptions& options) {
  for (const Method& known : Methods) {
    if (known.info.name == method) return known.make(std::move(classes), options);
  }
  std::string names;
  for (const Method& known : Methods) names += formatted(" {}", known.info.name);
  throw InvalidArgument(formatted("there is no method \"{}\"; the methods are{}", method, names));
}

}  // namespace rcap
