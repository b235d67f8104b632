#include "rcap/core/scorers/el2n_scorer.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "base/formatted.hpp"
#include "core/scorers/scorer_checks.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

void check_el2n(const ClassIndex& classes, const El2nOptions& options) {
  if (classes.class_count() < 2) {
    throw InvalidArgument(
        formatted("El2nScorer: {} class; there must be at least 2", classes.class_count()));
  }
  if (options.first_epoch < 0) {
    throw InvalidArgument(
        formatted("El2nScorer: first_epoch is {}; it must be >= 0", options.first_epoch));
  }
  if (options.last_epoch < options.first_epoch ||
      options.last_epoch == std::numeric_limits<std::int64_t>::max()) {
    throw InvalidArgument(formatted(
        "El2nScorer: first_epoch is {} and last_epoch {}; the last must not come before the first, "
        "and must be below 2^63 - 1",
        options.first_epoch, options.last_epoch));
  }
}

double error_length(std::span<const float> probabilities, std::size_t label) {
  double squares = 0;
  for (std::size_t k = 0; k < probabilities.size(); ++k) {
    const double error = k == label ? probabilities[k] - 1.0 : probabilities[k];
    squares += error * error;
  }
  return std::sqrt(squares);
}

}  // namespace

El2nScorer::El2nScorer(std::shared_ptr<const ClassIndex> classes, const El2nOptions& options)
    : classes_(std::move(classes)),
      options_(options),
      roll_("El2nScorer", classes_->sample_count()),
      sums_(static_cast<std::size_t>(classes_->sample_count())) {
  check_el2n(*classes_, options);
}

void El2nScorer::add(std::span<const SampleId> ids, std::span<const float> probabilities) {
  if (done()) {
    throw InvalidArgument(formatted("El2nScorer::add: all {} epochs are done; read scores()",
                                    options_.last_epoch + 1));
  }
  check_probabilities("El2nScorer::add", *classes_, ids, probabilities);
  roll_.mark_added(ids);
  if (roll_.epoch() < options_.first_epoch) return;
  const auto width = static_cast<std::size_t>(classes_->class_count());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    sums_[static_cast<std::size_t>(ids[i])] +=
        error_length(probabilities.subspan(i * width, width),
                     static_cast<std::size_t>(classes_->class_of(ids[i])));
  }
}

void El2nScorer::end_epoch() {
  if (done()) {
    throw InvalidArgument(formatted("El2nScorer::end_epoch: all {} epochs are done already",
                                    options_.last_epoch + 1));
  }
  roll_.end_epoch();
}

std::vector<float> El2nScorer::scores() const {
  if (!done()) {
    throw InvalidArgument(
        formatted("El2nScorer::scores: {} of {} epochs have ended; scores need them all",
                  roll_.epoch(), options_.last_epoch + 1));
  }
  const auto epochs = static_cast<double>(options_.last_epoch - options_.first_epoch + 1);
  std::vector<float> scores(sums_.size());
  for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = static_cast<float>(sums_[i] / epochs);
  return scores;
}

}  // namespace rcap
