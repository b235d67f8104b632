#include "rcap/core/scorers/forgetting_scorer.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/formatted.hpp"
#include "core/scorers/scorer_checks.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

void check_predictions(const ClassIndex& classes, std::span<const SampleId> ids,
                       std::span<const ClassId> predictions) {
  constexpr const char* Where = "ForgettingScorer::add";
  check_value_count(Where, "predictions", predictions.size(), ids.size());
  check_sample_ids(Where, ids, classes.sample_count());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (predictions[i] >= 0 && predictions[i] < classes.class_count()) continue;
    throw InvalidArgument(
        formatted("{}: the prediction for sample {} is {}; classes lie between 0 and {}", Where,
                  ids[i], predictions[i], classes.class_count() - 1));
  }
}

}  // namespace

ForgettingScorer::ForgettingScorer(std::shared_ptr<const ClassIndex> classes)
    : classes_(std::move(classes)),
      roll_("ForgettingScorer", classes_->sample_count()),
      right_(classes_->sample_count()),
      learned_(classes_->sample_count()),
      forgotten_(static_cast<std::size_t>(classes_->sample_count())) {}

void ForgettingScorer::add(std::span<const SampleId> ids, std::span<const ClassId> predictions) {
  check_predictions(*classes_, ids, predictions);
  roll_.mark_added(ids);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const SampleId id = ids[i];
    if (predictions[i] == classes_->class_of(id)) {
      right_.insert(id);
      learned_.insert(id);
    } else if (right_.erase_present(id)) {
      ++forgotten_[static_cast<std::size_t>(id)];
    }
  }
}

void ForgettingScorer::end_epoch() { roll_.end_epoch(); }

std::vector<float> ForgettingScorer::scores() const {
  if (roll_.epoch() == 0) {
    throw InvalidArgument(
        "ForgettingScorer::scores: no epoch has ended; add every sample, then call end_epoch()");
  }
  if (roll_.in_mid_epoch()) {
    throw InvalidArgument(
        formatted("ForgettingScorer::scores: epoch {} has begun; end it first, since samples that "
                  "were added in it cannot be compared with the others",
                  roll_.epoch()));
  }
  std::vector<float> scores(forgotten_.begin(), forgotten_.end());
  const float never_learned = *std::max_element(scores.begin(), scores.end()) + 1;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (!learned_.contains(static_cast<SampleId>(i))) scores[i] = never_learned;
  }
  return scores;
}

}  // namespace rcap
