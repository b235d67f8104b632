#include "rcap/core/pruners/rcap_pruner.hpp"

#include <algorithm>
#include <cmath>

#include "base/formatted.hpp"
#include "rcap/core/class_budget.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/random_stream.hpp"
#include "rcap/core/weighted_draw.hpp"

namespace rcap {
namespace {

void check(const RcapOptions& options) {
  if (!(options.beta >= 1e-3 && options.beta <= 1e3)) {
    throw InvalidArgument(
        formatted("beta is {}; it must lie between 0.001 and 1000", options.beta));
  }
  if (options.min_per_class < 0) {
    throw InvalidArgument(
        formatted("min_per_class is {}; it must be a count >= 0", options.min_per_class));
  }
}

std::string_view name_of(InitialLoss initial_loss) {
  return initial_loss == InitialLoss::Forward ? "forward" : "log_c";
}

std::string_view name_of(LossClip clip) {
  return clip == LossClip::ClassMax ? "class_max" : "log_c";
}

}  // namespace

std::string_view name_of(ClassShare share) {
  switch (share) {
    case ClassShare::Paper:
      return "paper";
    case ClassShare::Mass:
      return "mass";
    case ClassShare::Group:
      return "group";
  }
  throw InternalError("class_share has no name");
}

RcapPruner::RcapPruner(std::shared_ptr<const ClassIndex> classes, const CommonOptions& common,
                       const RcapOptions& options)
    : Pruner("rcap", std::move(classes), common), options_(options), memory_(shared_classes()) {
  check(options);
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

std::vector<double> RcapPruner::class_errors() const {
  return class_errors(common_options().threads);
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
                           RandomStream(common_options().seed, Purpose::Selection, epoch), workers,
                           &scratch_);
}

void RcapPruner::list_state(StateFields& fields) { memory_.list_state(fields); }

std::vector<std::string> RcapPruner::describe_options() const {
  return {formatted("beta={}", options_.beta),
          formatted("class_share={}", name_of(options_.class_share)),
          formatted("initial_loss={}", name_of(options_.initial_loss)),
          formatted("clip={}", name_of(options_.clip)),
          formatted("min_per_class={}", options_.min_per_class)};
}

}  // namespace rcap
