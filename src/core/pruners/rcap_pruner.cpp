#include "rcap/core/pruners/rcap_pruner.hpp"

#include <algorithm>
#include <cmath>

#include "rcap/core/class_budget.hpp"
#include "rcap/core/weighted_draw.hpp"

namespace rcap {

void list_options(OptionFields& fields, RcapOptions& options) {
  fields.number("beta", options.beta, "B", "temperature of the draw inside a class, 0.001 to 1000",
                Range::between(1e-3, 1e3));
  fields.choice("class_share", options.class_share, {"paper", "mass", "group"},
                "split over the classes: the printed formula, the authors' code, classes equal");
  fields.choice("initial_loss", options.initial_loss, {"forward", "log-c"},
                "losses before training: observed, or ln(classes) for all");
  fields.choice("clip", options.clip, {"class-max", "log-c"},
                "losses are cut at the class's largest initial one, or at ln(classes)");
  fields.count("min_per_class", options.min_per_class, "K",
               "kept of each class while the budget allows", Range::at_least(0));
}

RcapPruner::RcapPruner(std::shared_ptr<const ClassIndex> classes, const CommonOptions& common,
                       const RcapOptions& options)
    : Pruner("rcap", std::move(classes), common), options_(options), memory_(shared_classes()) {
  check_options(options);
  const auto log_c = static_cast<float>(std::log(this->classes().class_count()));
  if (options.initial_loss == InitialLoss::LogC) {
    memory_.fill(log_c);
  } else if (options.clip == LossClip::LogC) {
    memory_.fix_limits(log_c);
  }
}

void RcapPruner::record(std::span<const SampleId> ids, std::span<const float> losses) {
  if (epoch() < 0) {
    memory_.record_initial(ids, losses);
  } else {
    memory_.record(ids, losses);
  }
}

std::vector<double> RcapPruner::errors_over(const SampleSet& samples,
                                            const Workers& workers) const {
  return options_.class_share == ClassShare::Mass
             ? memory_.class_masses(samples, options_.beta, workers)
             : memory_.class_sums(samples, workers);
}

std::vector<double> RcapPruner::class_errors(const Workers& workers) const {
  if (epoch() < 0) return errors_over(SampleSet::all(classes().sample_count()), workers);
  std::vector<double> errors = errors_over(selected(), workers);
  judge_starved_classes(errors, workers);
  return errors;
}

void RcapPruner::judge_starved_classes(std::vector<double>& errors, const Workers& workers) const {
  if (options_.min_per_class > 0) return;  // there are none
  const std::vector<std::int64_t> taken = classes().count_by_class(selected().ids());
  const std::vector<double> whole = errors_over(SampleSet::all(classes().sample_count()), workers);
  const double keep_fraction =
      static_cast<double>(keep_count()) / static_cast<double>(classes().sample_count());
  for (std::size_t j = 0; j < errors.size(); ++j) {
    const auto size = static_cast<double>(classes().class_sizes()[j]);
    if (taken[j] == 0 && size > 0) {
      errors[j] = whole[j] * std::max(1.0, keep_fraction * size) / size;
    }
  }
}

std::vector<std::int64_t> RcapPruner::class_counts() const { return counts_for(class_errors()); }

std::vector<std::int64_t> RcapPruner::counts_for(std::span<const double> errors) const {
  const auto sizes = classes().class_sizes();
  const auto sample_count = static_cast<double>(classes().sample_count());
  const bool by_size = options_.class_share != ClassShare::Group;
  std::vector<double> weights(errors.size());
  for (std::size_t j = 0; j < weights.size(); ++j) {
    const double prior = by_size ? static_cast<double>(sizes[j]) / sample_count : 1.0;
    weights[j] = std::sqrt(prior * errors[j]);
  }
  return split_budget(sizes, weights, keep_count(), options_.min_per_class);
}

void RcapPruner::make_selection(std::int64_t epoch, SampleSet& selected, const Workers& workers) {
  std::vector<double> errors;
  if (this->epoch() >= 0) errors = memory_.clip(selected, workers);
  if (this->epoch() < 0 || options_.class_share == ClassShare::Mass) {
    errors = class_errors(workers);
  } else {  // the sums of the clipped losses are the errors
    judge_starved_classes(errors, workers);
  }
  selected = draw_weighted(classes(), {memory_.stored_losses(), options_.beta}, counts_for(errors),
                           stream(Purpose::Selection, epoch), workers, &scratch_);
}

}  // namespace rcap
