#include "rcap/core/advise.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/formatted.hpp"
#include "core/batch_checks.hpp"
#include "core/suggest.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/run_cost.hpp"

namespace rcap {
namespace {

constexpr std::array TriedRules{
    AdvisedRule{"rs2", "rs2"},
    AdvisedRule{"balanced", "balanced"},
    AdvisedRule{"rcap", "rcap", ClassShare::Robust},
    AdvisedRule{"rcap paper", "rcap", ClassShare::Paper},
    AdvisedRule{"rcap mass", "rcap", ClassShare::Mass},
    AdvisedRule{"rcap group", "rcap", ClassShare::Group},
};

void check_all_losses(std::span<const double> losses, std::int64_t sample_count) {
  if (losses.empty()) return;
  if (std::cmp_not_equal(losses.size(), sample_count)) {
    throw InvalidArgument(
        formatted("advise: {} losses for {} samples; give one for each sample, or none",
                  losses.size(), sample_count));
  }
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (is_loss(losses[i])) continue;
    throw InvalidArgument(formatted(
        "advise: the loss of sample {} is {}; losses must be finite and >= 0", i, losses[i]));
  }
}

/// Rates in ascending order, and the interval that is meant.
AdviseOptions completed(AdviseOptions options) {
  check_options(options);
  std::vector<double>& rates = options.pruning_rates;
  if (rates.empty()) throw InvalidArgument("advise: there is no pruning rate; give at least one");
  for (const double rate : rates) check_options(CommonOptions{.pruning_rate = rate});
  std::ranges::sort(rates);
  rates.erase(std::unique(rates.begin(), rates.end()), rates.end());
  if (options.evaluate_every == 0) {
    options.evaluate_every = usual_evaluation_interval(options.epochs);
  }
  return options;
}

void describe_classes(const ClassIndex& classes, Advice& advice) {
  const auto sizes = classes.class_sizes();
  advice.sample_count = classes.sample_count();
  advice.class_sizes.assign(sizes.begin(), sizes.end());
  advice.filled_class_count = classes.filled_class_count();
  std::int64_t smallest = classes.sample_count() + 1;
  std::int64_t largest = 0;
  for (ClassId j = 0; j < classes.class_count(); ++j) {
    const std::int64_t size = sizes[static_cast<std::size_t>(j)];
    if (size == 0) continue;
    if (size < smallest) std::tie(smallest, advice.smallest_class) = std::pair(size, j);
    if (size > largest) std::tie(largest, advice.largest_class) = std::pair(size, j);
  }
  advice.imbalance = static_cast<double>(largest) / static_cast<double>(smallest);
}

LossSummary summarize(const ClassIndex& classes, std::span<const double> losses) {
  std::vector<double> sums(classes.class_sizes().size());
  classes.visit([&](auto labels) {
    for (std::size_t i = 0; i < losses.size(); ++i) sums[labels[i]] += losses[i];
  });
  LossSummary summary{.lowest = std::numeric_limits<double>::infinity(), .highest = -1};
  for (ClassId j = 0; j < classes.class_count(); ++j) {
    const std::int64_t size = classes.class_sizes()[static_cast<std::size_t>(j)];
    if (size == 0) continue;
    const double mean = sums[static_cast<std::size_t>(j)] / static_cast<double>(size);
    if (mean < summary.lowest) std::tie(summary.lowest, summary.lowest_class) = std::pair(mean, j);
    if (mean > summary.highest) {
      std::tie(summary.highest, summary.highest_class) = std::pair(mean, j);
    }
  }
  summary.mean =
      std::reduce(sums.begin(), sums.end()) / static_cast<double>(classes.sample_count());
  return summary;
}

/// Tries rules at rates; what they share is made once.
class Trial {
 public:
  Trial(const std::shared_ptr<const ClassIndex>& classes, std::span<const double> losses,
        const AdviseOptions& options)
      : classes_(classes), losses_(losses), options_(options), ids_(losses.size()) {
    std::iota(ids_.begin(), ids_.end(), SampleId{0});
  }

  [[nodiscard]] RateAdvice at(double pruning_rate) const {
    RateAdvice advice;
    advice.pruning_rate = pruning_rate;
    for (const AdvisedRule& rule : TriedRules) {
      const PrunerOptions options = options_of(rule, pruning_rate);
      const std::unique_ptr<Pruner> pruner = make(rule, options);
      advice.keep_count = pruner->keep_count();
      advice.remark = remark_on_budget(*pruner, pruning_rate);
      RuleOutcome outcome;
      outcome.rule = rule.name;
      outcome.class_counts = classes_->count_by_class(pruner->select(0).ids);
      outcome.work = work_of(rule.method, options, pruner->keep_count());
      outcome.speed_up = full_work().total() / outcome.work.total();
      advice.rules.push_back(std::move(outcome));
    }
    return advice;
  }

  [[nodiscard]] Work full_work() const { return work_of("full", {}, classes_->sample_count()); }

 private:
  [[nodiscard]] PrunerOptions options_of(const AdvisedRule& rule, double pruning_rate) const {
    PrunerOptions options;
    options.common = {pruning_rate, options_.seed, options_.threads};
    options.rcap.class_share = rule.class_share;
    return options;
  }

  /// A pruner that has seen all losses it can take before the first epoch.
  [[nodiscard]] std::unique_ptr<Pruner> make(const AdvisedRule& rule, PrunerOptions options) const {
    // Any number: all samples are alike. Robust begins so by itself.
    if (losses_.empty() && needs_initial_losses(options.rcap)) options.rcap.initial_loss = 1.0;
    std::unique_ptr<Pruner> pruner = make_pruner(rule.method, classes_, options);
    if (!losses_.empty() && pruner->takes_initial_losses()) pruner->observe(ids_, losses_);
    return pruner;
  }

  [[nodiscard]] Work work_of(std::string_view method, const PrunerOptions& options,
                             std::int64_t keep_count) const {
    const auto samples = static_cast<double>(classes_->sample_count());
    const EpochCost cost = planned_cost(require_method(method), options,
                                        static_cast<double>(keep_count) / samples, options_.epochs);
    const std::int64_t evaluations = evaluation_count(options_.epochs, options_.evaluate_every);
    return {.training = cost.trained * samples / ForwardPart,
            .first_pass = cost.forward * samples,
            .evaluation =
                static_cast<double>(evaluations) * static_cast<double>(options_.test_samples)};
  }

  const std::shared_ptr<const ClassIndex>& classes_;
  std::span<const double> losses_;
  const AdviseOptions& options_;
  std::vector<SampleId> ids_;  ///< of all samples, where there are losses
};

}  // namespace

void list_options(OptionFields& fields, AdviseOptions& options) {
  constexpr double MostPlanned = 1e6;
  constexpr double MostSamples = 1e12;  // far below what a double counts exactly
  fields.count("epochs", options.epochs, "E", "epochs of the planned run",
               Range::between(1, MostPlanned));
  fields.count("test_samples", options.test_samples, "N",
               "samples per evaluation; 0: evaluations are not counted",
               Range::between(0, MostSamples));
  fields.count("evaluate_every", options.evaluate_every, "K",
               "epochs between evaluations; 0: ten evaluations per run",
               Range::between(0, MostPlanned));
  fields.count("seed", options.seed, "S", "seed of all random numbers");
  fields
      .count("threads", options.threads, "N",
             "number of threads; changes the time, never the result", Range::between(1, 4096))
      .shapes_no_result();
}

std::span<const AdvisedRule> advised_rules() noexcept { return TriedRules; }

std::string_view name_of(Verdict verdict) noexcept {
  constexpr std::array<std::string_view, 3> Names{"likely", "at a price", "hardly"};
  return Names[static_cast<std::size_t>(verdict)];
}

std::string_view name_of(Basis basis) noexcept {
  return basis == Basis::Computed ? "computed" : "study";
}

Advice advise(const std::shared_ptr<const ClassIndex>& classes, std::span<const double> losses,
              const AdviseOptions& options) {
  check_all_losses(losses, classes->sample_count());
  Advice advice;
  advice.options = completed(options);
  describe_classes(*classes, advice);
  if (!losses.empty()) advice.losses = summarize(*classes, losses);
  const Trial trial(classes, losses, advice.options);
  advice.full_work = trial.full_work();
  for (const double rate : advice.options.pruning_rates) advice.rates.push_back(trial.at(rate));
  advice.suggestion = suggest(advice);
  return advice;
}

}  // namespace rcap
