#include "rcap/core/scorers/divergence_scorer.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "base/formatted.hpp"
#include "core/keys.hpp"
#include "core/scorers/scorer_checks.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

constexpr double LogOffset = 1e-8;  ///< keeps the logarithm of a probability of 0 finite

void check_options(const ClassIndex& classes, const DivergenceOptions& options) {
  if (classes.class_count() < 2) {
    throw InvalidArgument(
        formatted("DivergenceScorer: {} class; there must be at least 2", classes.class_count()));
  }
  if (options.window < 3) {
    throw InvalidArgument(
        formatted("DivergenceScorer: window is {}; it must be >= 3: a window of 2 epochs holds a "
                  "single step, which never differs from its own mean, and every score would be 0",
                  options.window));
  }
  if (options.epochs < options.window) {
    throw InvalidArgument(formatted(
        "DivergenceScorer: epochs is {} and window {}; there must be at least one whole window",
        options.epochs, options.window));
  }
  if (!(options.decay > 0.0 && options.decay <= 1.0)) {
    throw InvalidArgument(
        formatted("DivergenceScorer: decay is {}; it must be > 0 and <= 1", options.decay));
  }
}

/// D: how far a prediction moved.
double step_between(std::span<const float> before, std::span<const float> after) {
  double step = 0;
  for (std::size_t k = 0; k < after.size(); ++k) {
    step +=
        std::abs(after[k] * (exact_log(after[k] + LogOffset) - exact_log(before[k] + LogOffset)));
  }
  return step;
}

}  // namespace

DivergenceScorer::DivergenceScorer(std::shared_ptr<const ClassIndex> classes,
                                   const DivergenceOptions& options)
    : classes_(std::move(classes)),
      options_(options),
      roll_("DivergenceScorer", classes_->sample_count()) {
  check_options(*classes_, options);
  const std::size_t prediction_values =
      array_length("DivergenceScorer", classes_->sample_count(), classes_->class_count());
  const std::size_t step_values =
      array_length("DivergenceScorer", classes_->sample_count(), options.window - 1);
  previous_.resize(prediction_values);
  steps_.resize(step_values);
  scores_.resize(static_cast<std::size_t>(classes_->sample_count()));
}

void DivergenceScorer::add(std::span<const SampleId> ids, std::span<const float> probabilities) {
  if (done()) {
    throw InvalidArgument(
        formatted("DivergenceScorer::add: all {} epochs are done; read scores()", options_.epochs));
  }
  check_probabilities("DivergenceScorer::add", *classes_, ids, probabilities);
  roll_.mark_added(ids);
  const auto width = static_cast<std::size_t>(classes_->class_count());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    take_row(static_cast<std::size_t>(ids[i]), probabilities.subspan(i * width, width));
  }
}

void DivergenceScorer::end_epoch() {
  if (done()) {
    throw InvalidArgument(
        formatted("DivergenceScorer::end_epoch: all {} epochs are done already", options_.epochs));
  }
  roll_.end_epoch();
}

std::vector<float> DivergenceScorer::scores() const {
  if (!done()) {
    throw InvalidArgument(
        formatted("DivergenceScorer::scores: {} of {} epochs have ended; scores need them all",
                  roll_.epoch(), options_.epochs));
  }
  return scores_;
}

void DivergenceScorer::take_row(std::size_t sample, std::span<const float> probabilities) {
  const std::span<float> previous =
      std::span(previous_).subspan(sample * probabilities.size(), probabilities.size());
  if (const std::int64_t epoch = roll_.epoch(); epoch > 0) {
    const std::int64_t ring = options_.window - 1;
    const auto slot = static_cast<std::size_t>((epoch - 1) % ring);
    steps_[sample * static_cast<std::size_t>(ring) + slot] =
        static_cast<float>(step_between(previous, probabilities));
    if (epoch >= ring) {
      scores_[sample] = static_cast<float>(options_.decay * window_spread(sample) +
                                           (1.0 - options_.decay) * scores_[sample]);
    }
  }
  std::copy(probabilities.begin(), probabilities.end(), previous.begin());
}

/// G: the root of the summed squared deviations of the steps in the ring.
double DivergenceScorer::window_spread(std::size_t sample) const {
  const auto ring = static_cast<std::size_t>(options_.window - 1);
  const auto steps = std::span(steps_).subspan(sample * ring, ring);
  const double mean = std::accumulate(steps.begin(), steps.end(), 0.0) / static_cast<double>(ring);
  double squares = 0;
  for (const float step : steps) squares += (step - mean) * (step - mean);
  return std::sqrt(squares);
}

}  // namespace rcap
