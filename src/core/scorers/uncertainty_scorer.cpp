#include "rcap/core/scorers/uncertainty_scorer.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "base/formatted.hpp"
#include "core/batch_checks.hpp"
#include "core/keys.hpp"
#include "core/scorers/scorer_checks.hpp"
#include "rcap/core/class_index.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

std::int64_t checked_sample_count(std::int64_t sample_count) {
  if (sample_count >= 1 && sample_count <= ClassIndex::MaxSamples) return sample_count;
  throw InvalidArgument(
      formatted("UncertaintyScorer: sample_count is {}; it must lie between 1 and {}", sample_count,
                ClassIndex::MaxSamples));
}

void check_windows(const UncertaintyOptions& options) {
  if (options.window < 2) {
    throw InvalidArgument(formatted(
        "UncertaintyScorer: window is {}; it must be >= 2: a single epoch has no deviation",
        options.window));
  }
  if (options.dual_epochs < options.window) {
    throw InvalidArgument(
        formatted("UncertaintyScorer: dual_epochs is {} and window {}; there must be at least one "
                  "whole window",
                  options.dual_epochs, options.window));
  }
}

void check_cross_entropies(std::span<const SampleId> ids, std::span<const float> losses,
                           std::int64_t sample_count) {
  constexpr const char* Where = "UncertaintyScorer::add";
  check_value_count(Where, "losses", losses.size(), ids.size());
  check_sample_ids(Where, ids, sample_count);
  const auto bad = std::find_if_not(losses.begin(), losses.end(), is_loss<float>);
  if (bad == losses.end()) return;
  throw InvalidArgument(formatted("{}: the loss of sample {} is {}; losses must be finite and >= 0",
                                  Where, ids[static_cast<std::size_t>(bad - losses.begin())],
                                  *bad));
}

struct Moments {
  double mean;
  double deviation;  ///< of a sample: divided by one less than there are values
};

Moments moments_of(std::span<const float> values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const float value : values) squares += (value - mean) * (value - mean);
  return {mean, std::sqrt(squares / (count - 1))};
}

std::vector<float> divided(const std::vector<double>& sums, std::int64_t count) {
  std::vector<float> means(sums.size());
  std::transform(sums.begin(), sums.end(), means.begin(), [count](double sum) {
    return static_cast<float>(sum / static_cast<double>(count));
  });
  return means;
}

}  // namespace

UncertaintyScorer::UncertaintyScorer(std::int64_t sample_count, const UncertaintyOptions& options)
    : options_(options), roll_("UncertaintyScorer", checked_sample_count(sample_count)) {
  check_windows(options);
  ring_.resize(array_length("UncertaintyScorer", sample_count, options.window));
  deviation_sums_.resize(static_cast<std::size_t>(sample_count));
  dual_sums_.resize(deviation_sums_.size());
  probability_sums_.resize(deviation_sums_.size());
}

void UncertaintyScorer::add(std::span<const SampleId> ids, std::span<const float> losses) {
  check_cross_entropies(ids, losses, static_cast<std::int64_t>(deviation_sums_.size()));
  roll_.mark_added(ids);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const double loss = std::max(0.0F, losses[i]);
    take_probability(static_cast<std::size_t>(ids[i]), static_cast<float>(exact_exp(-loss)));
  }
}

void UncertaintyScorer::take_probability(std::size_t sample, float probability) {
  const auto window = static_cast<std::size_t>(options_.window);
  const std::span<float> ring = std::span(ring_).subspan(sample * window, window);
  ring[static_cast<std::size_t>(roll_.epoch()) % window] = probability;
  if (!dual_done()) probability_sums_[sample] += probability;
  if (roll_.epoch() + 1 < options_.window) return;
  const Moments moments = moments_of(ring);
  deviation_sums_[sample] += moments.deviation;
  if (!dual_done()) dual_sums_[sample] += moments.deviation * (1.0 - moments.mean);
}

void UncertaintyScorer::end_epoch() { roll_.end_epoch(); }

std::vector<float> UncertaintyScorer::uncertainties() const {
  if (roll_.epoch() < options_.window) {
    throw InvalidArgument(
        formatted("UncertaintyScorer::uncertainties: {} epochs have ended; a window takes {}",
                  roll_.epoch(), options_.window));
  }
  if (roll_.in_mid_epoch()) {
    throw InvalidArgument(
        formatted("UncertaintyScorer::uncertainties: epoch {} has begun; end it first, since "
                  "samples that were added in it cannot be compared with the others",
                  roll_.epoch()));
  }
  return divided(deviation_sums_, roll_.epoch() - options_.window + 1);
}

std::vector<float> UncertaintyScorer::dual_scores() const {
  require_dual_done("dual_scores");
  return divided(dual_sums_, options_.dual_epochs - options_.window + 1);
}

std::vector<float> UncertaintyScorer::mean_probabilities() const {
  require_dual_done("mean_probabilities");
  return divided(probability_sums_, options_.dual_epochs);
}

void UncertaintyScorer::require_dual_done(const char* what) const {
  if (dual_done()) return;
  throw InvalidArgument(
      formatted("UncertaintyScorer::{}: {} of {} epochs have ended; it needs them all", what,
                roll_.epoch(), options_.dual_epochs));
}

}  // namespace rcap
