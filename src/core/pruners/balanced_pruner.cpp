#include "rcap/core/pruners/balanced_pruner.hpp"

#include <algorithm>
#include <limits>

#include "core/sample_weights.hpp"
#include "core/saturate.hpp"
#include "rcap/core/class_budget.hpp"
#include "rcap/core/robust_share.hpp"
#include "rcap/core/weighted_draw.hpp"

namespace rcap {

void list_options(OptionFields& fields, BalancedOptions& options) {
  fields.choice("class_share", options.class_share,
                {"equal", "power", "progressive", "effective-number", "deferred", "group-dro",
                 "domain", "bandit"},
                "how to split the budget over classes: equally, or by a rule from the literature");
  const auto chosen = [&options] { return rule_of(options.class_share); };
  fields
      .number("lift", options.lift, "V",
              "highest weight of a sample whose class is kept whole and needs more; 1: no extra "
              "weight",
              Range::between(1, 1e6))
      .applies_if([chosen] { return chosen().has_value(); },
                  "is for class shares other than equal");
  list_options(fields, options.share, chosen);
}

bool learns(const BalancedOptions& options) noexcept {
  const auto rule = rule_of(options.class_share);
  return rule && reads_losses(*rule, options.share);
}

BalancedPruner::BalancedPruner(std::shared_ptr<const ClassIndex> classes,
                               const CommonOptions& common, const BalancedOptions& options)
    : Pruner("balanced", std::move(classes), common),
      options_(options),
      rounds_(make_rounds()),
      known_(0) {
  check_options(options);
  const auto rule = rule_of(options.class_share);
  if (!rule) return;
  wanted_.emplace(*rule, options.share, this->classes().class_tokens(), keep_count());
  const std::size_t class_count = this->classes().class_sizes().size();
  lifts_.assign(class_count, 1.0F);
  if (!rcap::learns(options)) return;
  memory_.emplace(shared_classes());
  memory_->fix_limits(std::numeric_limits<float>::max());  // nothing is clipped
  known_ = SampleSet(this->classes().local_count());
  told_errors_.assign(class_count, 0.0F);
}

std::vector<std::string> BalancedPruner::describe_options() const {
  return wanted_ ? rcap::describe_options(options_) : std::vector<std::string>();
}

void BalancedPruner::list_state(StateFields& fields) {
  if (rounds_) rounds_->list_state(fields);
  if (!wanted_) return;
  wanted_->list_state(fields);
  fields.losses("lifts", lifts_);
  if (!memory_) return;
  memory_->list_state(fields);
  fields.flag("has_started", has_started_);
  fields.samples("known", known_);
  fields.flag("has_told_errors", has_told_errors_);
  fields.losses("told_errors", told_errors_);
}

void BalancedPruner::record(std::span<const SampleId> ids, std::span<const float> losses) {
  memory_->record(ids, losses);
  if (has_started_) return;
  for (const SampleId id : ids) known_.insert(id);
}

void BalancedPruner::record_classes(std::span<const double> errors) {
  std::ranges::transform(errors, told_errors_.begin(), saturate);
  has_told_errors_ = true;
}

std::vector<double> BalancedPruner::class_means(const SampleSet& samples,
                                                const Workers& workers) const {
  std::vector<double> means = memory_->class_sums(samples, workers);
  const std::vector<std::int64_t> counts = classes().tokens_by_class(samples.ids());
  for (std::size_t j = 0; j < means.size(); ++j) {
    if (counts[j] > 0) means[j] /= static_cast<double>(counts[j]);
  }
  return means;
}

void BalancedPruner::learn(const SampleSet& selected, const Workers& workers) {
  if (has_told_errors_) {
    return wanted_->learn(std::vector<double>(told_errors_.begin(), told_errors_.end()), epoch());
  }
  if (!has_started_ && shard().any(known_.count() > 0)) {
    memory_->start_from(known_, workers);
    has_started_ = true;
  }
  if (has_started_) wanted_->learn(class_means(selected, workers), epoch());
}

void BalancedPruner::make_selection(std::int64_t epoch, SampleSet& selected,
                                    const Workers& workers) {
  const auto all = classes().class_tokens();
  const std::vector<std::int64_t> sizes =
      rounds_ ? rounds_->available() : std::vector<std::int64_t>(all.begin(), all.end());
  const std::int64_t budget = budget_of(epoch, sizes);  // or nothing is changed
  if (memory_) learn(selected, workers);
  const std::vector<double> shares =
      wanted_ ? wanted_->at(epoch) : std::vector<double>(sizes.size(), 1.0);
  counts_ = split_budget(sizes, shares, budget);
  draw(epoch, selected, workers);
  if (wanted_) lifts_ = lifts_of(sizes, counts_, shares, options_.lift);
}

void BalancedPruner::draw(std::int64_t epoch, SampleSet& selected, const Workers& workers) {
  const RandomStream random = stream(Purpose::Selection, epoch);
  if (!rounds_) {
    selected = draw_per_class(classes(), counts_, random, workers);
  } else {
    const Rounds::Turn turn = rounds_->begin(counts_);
    const Candidates candidates = turn.as_candidates();
    selected = draw_per_class(classes(), counts_, random, workers, &candidates);
    rounds_->end(turn, selected);
    selected.unite(turn.certain);
  }
  if (classes().has_lengths()) counts_ = classes().tokens_by_class(selected.ids(workers));
}

void BalancedPruner::weigh(std::span<const SampleId> ids, const Workers& workers,
                           std::vector<float>& weights) {
  if (!wanted_) return weights.clear();
  const std::vector<float> no_exponents(lifts_.size());
  weigh_samples(classes(), ids, nullptr, {}, {classes().tokens_by_class(ids), lifts_, no_exponents},
                workers, weights);
}

std::vector<double> BalancedPruner::class_weights(const Selection&, const Workers&) {
  if (!wanted_) return {counts_.begin(), counts_.end()};
  return sum_alike_weights({counts_, lifts_, std::vector<float>(lifts_.size())});
}

}  // namespace rcap
