#include "rcap/core/pruners/rcap_pruner.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "core/keys.hpp"
#include "core/sample_weights.hpp"
#include "core/saturate.hpp"
#include "core/shard_state.hpp"
#include "core/temperature.hpp"
#include "rcap/core/class_budget.hpp"

namespace rcap {
namespace {

float log_of(ClassId class_count) { return static_cast<float>(exact_log(class_count)); }

/// The mean loss of each class; 0 if nothing of it counts.
std::vector<double> means_of(std::span<const ClassLoss> losses) {
  std::vector<double> means(losses.size());
  for (std::size_t j = 0; j < losses.size(); ++j) {
    if (losses[j].weight > 0) means[j] = losses[j].sum / losses[j].weight;
  }
  return means;
}

}  // namespace

void list_options(OptionFields& fields, RcapOptions& options) {
  fields.number(
      "beta", options.beta, "B",
      "temperature of the draw inside a class, 0.001 to 1000; auto: from the spread of the losses",
      Range::between(1e-3, 1e3), "auto");
  fields.choice("class_share", options.class_share,
                {"robust", "paper", "mass", "group", "power", "progressive", "effective-number",
                 "deferred", "group-dro", "domain", "bandit"},
                "how to split the budget over classes: by error on new data, by the paper's "
                "formula, as the authors' code does, with equal class weights, or by a rule from "
                "the literature");
  fields.choice("initial_loss", options.initial_loss, {"auto", "forward", "log-c", "first-epoch"},
                "L",
                "losses before training: as the class share needs them, all observed, ln(classes), "
                "class means of the first epoch, or one number for all",
                Range::above(0));
  fields.choice("clip", options.clip, {"auto", "class-max", "log-c", "none"}, "L",
                "clip losses at the largest first loss of the class, at ln(classes), not at all, "
                "or at a number; auto: class-max if first losses come from the network",
                Range::above(0));
  fields.count("min_per_class", options.min_per_class, "K",
               "samples kept of each class while the budget allows", Range::at_least(0));
  const auto chosen = [&options] { return rule_of(options.class_share); };
  const auto is_robust = [&options] { return options.class_share == ClassShare::Robust; };
  OptionFields robust;
  list_options(robust, options.robust);
  for (Option option : robust.all()) {
    if (option.name() == "lift") {
      option.applies_if([=] { return is_robust() || chosen(); },
                        "is not for the class shares paper, mass and group");
    } else {
      option.applies_if(is_robust, "is for the class share robust");
    }
    fields.append(option);
  }
  list_options(fields, options.share, chosen);
}

RcapPruner::RcapPruner(std::shared_ptr<const ClassIndex> classes, const CommonOptions& common,
                       const RcapOptions& options)
    : Pruner("rcap", std::move(classes), common),
      options_(options),
      memory_(shared_classes()),
      rounds_(make_rounds()),
      known_(this->classes().local_count()) {
  check_options(options);
  if (const auto limit = given_clip()) memory_.fix_limits(*limit);
  if (const auto loss = given_first_loss()) memory_.fill(*loss);
  if (const auto rule = rule_of(options.class_share)) {
    wanted_.emplace(*rule, options.share, this->classes().class_tokens(), keep_count());
  }
  if (!weighs()) return;
  const auto class_count = static_cast<std::size_t>(this->classes().class_count());
  inverse_chances_.resize(chance_count());
  lifts_.assign(class_count, 1.0F);
  exponents_.assign(class_count, 0.0F);
  told_errors_.assign(class_count, 0.0F);
}

std::optional<float> RcapPruner::given_first_loss() const {
  if (const auto number = options_.initial_loss.number()) return saturate(*number);
  if (options_.initial_loss == InitialLoss::LogC) return log_of(classes().class_count());
  return std::nullopt;
}

std::optional<float> RcapPruner::given_clip() const {
  if (const auto number = options_.clip.number()) return saturate(*number);
  switch (options_.clip.choice()) {
    case LossClip::LogC:
      return log_of(classes().class_count());
    case LossClip::ClassMax:
      return given_first_loss();
    case LossClip::None:
      return std::numeric_limits<float>::max();
    case LossClip::Auto:
      break;
  }
  return given_first_loss() ? std::optional(std::numeric_limits<float>::max()) : std::nullopt;
}

std::size_t RcapPruner::chance_count() const {
  if (draws_tokens()) return static_cast<std::size_t>(selected().count());
  // Of a shard, how many of the selected samples are here is known with the first selection.
  const auto place = [this](int rank) {
    return even_place(keep_count(), shard().rank_count(), rank);
  };
  return static_cast<std::size_t>(place(shard().rank() + 1) - place(shard().rank()));
}

void RcapPruner::list_state(StateFields& fields) {
  memory_.list_state(fields);
  if (can_start_later()) {
    fields.flag("has_started", has_started_);
    fields.samples("known", known_);
  }
  if (wanted_) wanted_->list_state(fields);
  if (rounds_) rounds_->list_state(fields);
  if (!weighs()) return;
  fields.chances("inverse_chances", inverse_chances_, chance_count());
  fields.losses("lifts", lifts_);
  fields.losses("exponents", exponents_);
  fields.flag("has_told_errors", has_told_errors_);
  fields.losses("told_errors", told_errors_);
}

void RcapPruner::record(std::span<const SampleId> ids, std::span<const float> losses) {
  if (epoch() < 0) return memory_.record_initial(ids, losses);
  memory_.record(ids, losses);
  note_known(ids);
}

void RcapPruner::record_late(std::span<const SampleId> ids, std::span<const float> losses) {
  memory_.record_clipped(ids, losses);
  note_known(ids);
}

void RcapPruner::note_known(std::span<const SampleId> ids) {
  if (!waits_for_losses()) return;
  for (const SampleId id : ids) known_.insert(id);
}

void RcapPruner::record_classes(std::span<const double> errors) {
  std::ranges::transform(errors, told_errors_.begin(), saturate);
  has_told_errors_ = true;
}

double RcapPruner::beta() const {
  return options_.beta ? *options_.beta : balanced_beta(classes(), memory_.stored_losses());
}

std::vector<double> RcapPruner::errors_over(const SampleSet& samples,
                                            const Workers& workers) const {
  return options_.class_share == ClassShare::Mass ? memory_.class_masses(samples, beta(), workers)
                                                  : memory_.class_sums(samples, workers);
}

std::vector<double> RcapPruner::class_errors(const Workers& workers) const {
  if (weighs() && epoch() < 0) {
    return corrected_errors(losses_of_all(workers), classes().class_tokens(), workers);
  }
  if (weighs()) {
    return corrected_errors(memory_.class_losses(selected(), inverse_chances_, workers),
                            classes().tokens_by_class(selected().ids(workers)), workers);
  }
  if (epoch() < 0) return errors_over(SampleSet::all(classes().local_count()), workers);
  std::vector<double> errors = errors_over(selected(), workers);
  judge_starved_classes(errors, workers);
  return errors;
}

std::vector<ClassLoss> RcapPruner::losses_of_all(const Workers& workers) const {
  const std::vector<double> sums =
      memory_.class_sums(SampleSet::all(classes().local_count()), workers);
  std::vector<ClassLoss> losses;
  for (std::size_t j = 0; j < sums.size(); ++j) {
    losses.push_back({sums[j], static_cast<double>(classes().class_tokens()[j])});
  }
  return losses;
}

double RcapPruner::proportional_share(std::size_t class_id) const {
  const double keep_fraction =
      static_cast<double>(keep_tokens()) / static_cast<double>(classes().token_count());
  return std::max(1.0, keep_fraction * static_cast<double>(classes().class_tokens()[class_id]));
}

void RcapPruner::judge_starved_classes(std::vector<double>& errors, const Workers& workers) const {
  if (options_.min_per_class > 0) return;  // there are none
  const std::vector<std::int64_t> taken = classes().count_by_class(selected().ids());
  const std::vector<double> whole = errors_over(SampleSet::all(classes().local_count()), workers);
  for (std::size_t j = 0; j < errors.size(); ++j) {
    const auto size = static_cast<double>(classes().class_tokens()[j]);
    if (taken[j] == 0 && size > 0) errors[j] = whole[j] * proportional_share(j) / size;
  }
}

std::vector<double> RcapPruner::corrected_errors(std::vector<ClassLoss> losses,
                                                 std::span<const std::int64_t> counts,
                                                 const Workers& workers) const {
  const auto sizes = classes().class_tokens();
  const auto starves = [&](std::size_t j) { return counts[j] == 0 && sizes[j] > 0; };
  std::vector<double> taken(losses.size());
  for (std::size_t j = 0; j < losses.size(); ++j) {
    taken[j] = starves(j) ? proportional_share(j) : static_cast<double>(counts[j]);
  }
  if (options_.min_per_class == 0) {
    const std::vector<ClassLoss> whole = losses_of_all(workers);
    for (std::size_t j = 0; j < losses.size(); ++j) {
      if (starves(j)) losses[j] = whole[j];
    }
  }
  std::vector<double> errors = has_told_errors_
                                   ? std::vector<double>(told_errors_.begin(), told_errors_.end())
                                   : means_of(losses);
  if (wanted_) return errors;
  if (!has_told_errors_) {
    errors = errors_on_new_data(errors, expected_visits(sizes, keep_tokens(), epoch() + 1),
                                options_.robust.allowance);
  }
  std::ranges::transform(taken, errors, errors.begin(), std::multiplies<>());
  return errors;
}

bool RcapPruner::knows_class_errors() const {
  if (has_told_errors_) return true;
  if (epoch() < 0) return shard().sum(pending_count()) < classes().sample_count();
  return !waits_for_losses() || shard().any(known_.count() > 0);
}

std::vector<std::int64_t> RcapPruner::class_counts() const {
  const std::vector<double> errors = class_errors();
  std::vector<double> weights;
  if (wanted_) {
    WantedShares next = *wanted_;
    if (knows_class_errors()) next.learn(errors, epoch());
    weights = next.at(epoch() + 1);
  } else {
    weights = share_weights(errors, epoch() + 1);
  }
  const std::vector<std::int64_t> sizes = available();
  return split_budget(sizes, weights, budget_of(epoch() + 1, sizes), options_.min_per_class);
}

std::vector<std::int64_t> RcapPruner::available() const {
  if (rounds_) return rounds_->available();
  const auto tokens = classes().class_tokens();
  return {tokens.begin(), tokens.end()};
}

std::vector<double> RcapPruner::share_weights(std::span<const double> errors,
                                              std::int64_t epoch) const {
  if (wanted_) return wanted_->at(epoch);
  if (is_robust()) return robust_weights(errors, options_.robust.focus);
  const auto sizes = classes().class_tokens();
  const auto token_count = static_cast<double>(classes().token_count());
  const bool by_size = options_.class_share != ClassShare::Group;
  std::vector<double> weights(errors.size());
  for (std::size_t j = 0; j < weights.size(); ++j) {
    const double prior = by_size ? static_cast<double>(sizes[j]) / token_count : 1.0;
    weights[j] = std::sqrt(prior * errors[j]);
  }
  return weights;
}

void RcapPruner::start(const SampleSet& seen, const Workers& workers) {
  if (!waits_for_losses()) return;
  if (!shard().any(seen.count() > 0)) return memory_.fill(1);  // any number: all samples are alike
  memory_.start_from(seen, workers);
  has_started_ = true;
}

std::vector<double> RcapPruner::clip_and_judge(const SampleSet& samples, const Workers& workers) {
  start(known_, workers);
  if (weighs()) {
    std::vector<ClassLoss> losses = memory_.clip(samples, inverse_chances_, workers);
    note_clipped(memory_.cut_count());
    if (!are_weighed()) counts_ = classes().tokens_by_class(samples.ids(workers));
    return corrected_errors(std::move(losses), counts_, workers);
  }
  std::vector<double> sums = memory_.clip(samples, workers);
  note_clipped(memory_.cut_count());
  if (options_.class_share == ClassShare::Mass) return class_errors(workers);
  judge_starved_classes(sums, workers);  // the sums of the clipped losses are the errors
  return sums;
}

void RcapPruner::make_selection(std::int64_t epoch, SampleSet& selected, const Workers& workers) {
  const std::vector<std::int64_t> sizes = available();
  const std::int64_t budget = budget_of(epoch, sizes);  // or nothing is changed
  if (this->epoch() < 0) {
    SampleSet observed = SampleSet::all(classes().local_count());
    observed.subtract(pending());
    start(observed, workers);
  }
  const std::vector<double> errors =
      this->epoch() < 0 ? class_errors(workers) : clip_and_judge(selected, workers);
  if (wanted_ && knows_class_errors()) wanted_->learn(errors, this->epoch());
  const std::vector<double> weights = share_weights(errors, epoch);
  counts_ = split_budget(sizes, weights, budget, options_.min_per_class);
  const LossWeights losses{memory_.stored_losses(), beta()};
  draw(losses, epoch, selected, workers);
  if (!weighs()) return;
  lifts_ = lifts_of(sizes, counts_, weights, options_.robust.lift);
  exponents_ = unbias_exponents(classes().class_tokens(), counts_,
                                is_robust() ? options_.robust.unbias : std::nullopt);
  drawn_with_ = losses.beta;
}

void RcapPruner::draw(const LossWeights& losses, std::int64_t epoch, SampleSet& selected,
                      const Workers& workers) {
  const RandomStream random = stream(Purpose::Selection, epoch);
  if (!rounds_) {
    selected = draw_weighted(classes(), losses, counts_, random, workers, &scratch_);
  } else {
    turn_ = rounds_->begin(counts_);
    const Candidates candidates = turn_->as_candidates();
    selected = draw_weighted(classes(), losses, counts_, random, workers, &scratch_, &candidates);
    rounds_->end(*turn_, selected);
    selected.unite(turn_->certain);
  }
  if (draws_tokens()) counts_ = scratch_.tokens;
}

void RcapPruner::weigh(std::span<const SampleId> ids, const Workers& workers,
                       std::vector<float>& weights) {
  if (!weighs()) return weights.clear();
  // A selection that came with a state brings its chances along: the losses of its draw may be
  // gone.
  const bool is_fresh = drawn_with_.has_value();
  if (is_fresh || draws_tokens()) inverse_chances_.resize(ids.size());
  if (!is_fresh) counts_ = classes().tokens_by_class(ids);
  const FreshDraw draw{{memory_.stored_losses(), drawn_with_.value_or(1)},
                       scratch_.thresholds,
                       draws_tokens() ? &scratch_.by_length : nullptr,
                       turn_ ? &turn_->candidates : nullptr};
  weigh_samples(classes(), ids, is_fresh ? &draw : nullptr, inverse_chances_,
                {counts_, lifts_, exponents_}, workers, weights);
  drawn_with_.reset();
  turn_.reset();
}

std::vector<double> RcapPruner::class_weights(const Selection& selection, const Workers& workers) {
  if (!weighs()) return {counts_.begin(), counts_.end()};
  const ClassWeighing weighing{counts_, lifts_, exponents_};
  return alike_in_classes(weighing) ? sum_alike_weights(weighing)
                                    : Pruner::class_weights(selection, workers);
}

}  // namespace rcap
