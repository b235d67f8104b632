#include "rcap/core/pruners/bandit_pruner.hpp"

#include "core/prefetch.hpp"
#include "core/saturate.hpp"
#include "rcap/core/class_budget.hpp"
#include "rcap/core/top_scores.hpp"
#include "rcap/core/weighted_draw.hpp"

namespace rcap {

void list_options(OptionFields& fields, BanditOptions& options) {
  fields.number("loss_weight", options.loss_weight, "A",
                "weight of the newest loss in the running mean", Range::between(0, 1));
  if (options.rule == BanditRule::Ucb) {
    fields.number("confidence", options.confidence, "K", "weight of the variance",
                  Range::between(0, 1e6));
  } else {
    fields.number("epsilon", options.epsilon, "E", "fraction of the budget drawn at random",
                  Range::between(0, 1));
  }
  fields.count("period", options.period, "T", "epochs between selections", Range::at_least(1));
  fields.choice("start", options.start, {"first-loss", "zero", "one"},
                "running mean to start from: the first loss, 0 or 1");
  fields.flag("full_first_epoch", options.full_first_epoch,
              "select all samples until a loss is known; off: a random subset");
}

BanditPruner::BanditPruner(std::shared_ptr<const ClassIndex> classes, const CommonOptions& common,
                           const BanditOptions& options)
    : Pruner(options.rule == BanditRule::Ucb ? "ucb" : "epsilon-greedy", std::move(classes),
             common),
      options_(options),
      means_(static_cast<std::size_t>(this->classes().local_count()),
             options.start == BanditStart::One ? 1.0F : 0.0F),
      variances_(options.rule == BanditRule::Ucb ? means_.size() : 0),
      seen_(this->classes().local_count()) {
  check_options(options);
}

void BanditPruner::prefetch(std::span<const SampleId> ids) const {
  prefetch_numbers(means_, ids);
  if (!variances_.empty()) prefetch_numbers(variances_, ids);
}

void BanditPruner::record(std::span<const SampleId> ids, std::span<const float> losses) {
  const double rate = options_.loss_weight;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto id = static_cast<std::size_t>(ids[i]);
    const double loss = losses[i];
    const double mean = means_[id];
    if (!variances_.empty()) {
      const double variance = (1 - rate) * variances_[id] + rate * (loss - mean) * (loss - mean);
      variances_[id] = saturate(variance);
    }
    const bool starts = options_.start == BanditStart::FirstLoss && !seen_.contains(ids[i]);
    means_[id] = saturate(starts ? loss : (1 - rate) * mean + rate * loss);
    seen_.insert(ids[i]);
  }
}

std::optional<std::int64_t> BanditPruner::plan_batches(std::int64_t epochs,
                                                       std::int64_t batch_size) const {
  if (classes().has_lengths()) return std::nullopt;
  const bool first_is_full = options_.full_first_epoch && epochs > 0;
  return (first_is_full ? batches_of(classes().sample_count(), batch_size) : 0) +
         (first_is_full ? epochs - 1 : epochs) * batches_of(keep_count(), batch_size);
}

std::vector<float> BanditPruner::scores() const {
  std::vector<float> scores = means_;
  for (std::size_t i = 0; i < variances_.size(); ++i) {
    scores[i] = saturate(scores[i] + options_.confidence * variances_[i]);
  }
  return scores;
}

void BanditPruner::make_selection(std::int64_t epoch, SampleSet& selected, const Workers& workers) {
  const RandomStream random = stream(Purpose::Exploration, epoch);
  if (!shard().any(seen_.count() > 0)) {
    selected = options_.full_first_epoch ? SampleSet::all(classes().local_count())
                                         : draw_tokens(classes(), keep_tokens(), random, workers);
    return;
  }
  const std::int64_t round = (epoch - 1) / options_.period;
  if (round == last_round_) return;  // the same subset again
  last_round_ = round;
  const bool explores = options_.rule == BanditRule::EpsilonGreedy;
  const auto random_count =
      explores
          ? static_cast<std::int64_t>(options_.epsilon * static_cast<double>(keep_tokens()) + 1e-6)
          : 0;
  selected = top_scores(shard(), scores(), keep_tokens() - random_count, classes().lengths());
  if (random_count > 0) {
    SampleSet rest = SampleSet::all(classes().local_count());
    rest.subtract(selected);
    selected.unite(draw_tokens(classes(), random_count, random, workers, &rest));
  }
}

void BanditPruner::list_state(StateFields& fields) {
  fields.number("last_round", last_round_);
  fields.sample_losses("means", means_);
  fields.sample_losses("variances", variances_);
  fields.samples("seen", seen_);
}

}  // namespace rcap
