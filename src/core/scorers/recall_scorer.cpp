#include "rcap/core/scorers/recall_scorer.hpp"

#include <cstddef>
#include <limits>
#include <string_view>

#include "base/formatted.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

void check_range(std::string_view what, std::span<const ClassId> classes, std::size_t class_count) {
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (classes[i] < 0 || static_cast<std::size_t>(classes[i]) >= class_count) {
      throw InvalidArgument(
          formatted("RecallScorer::add: {}[{}] is {}; classes lie between 0 and {}", what, i,
                    classes[i], class_count - 1));
    }
  }
}

std::size_t checked_count(ClassId class_count) {
  if (class_count < 1) {
    throw InvalidArgument(
        formatted("RecallScorer: class_count is {}; it must be >= 1", class_count));
  }
  return static_cast<std::size_t>(class_count);
}

/// Whether a / b > c / d for counts, exactly.
bool is_greater_ratio(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
  __extension__ using Wide = __int128;
  return static_cast<Wide>(a) * d > static_cast<Wide>(c) * b;
}

}  // namespace

RecallScorer::RecallScorer(ClassId class_count)
    : current_(checked_count(class_count)),
      ended_{std::vector<double>(current_.samples.size()),
             std::vector<std::int64_t>(current_.samples.size())} {}

void RecallScorer::add(std::span<const ClassId> labels, std::span<const ClassId> predictions) {
  if (labels.size() != predictions.size()) {
    throw InvalidArgument(
        formatted("RecallScorer::add: {} labels and {} predictions; give one prediction per label",
                  labels.size(), predictions.size()));
  }
  check_range("labels", labels, current_.samples.size());
  check_range("predictions", predictions, current_.samples.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto label = static_cast<std::size_t>(labels[i]);
    const std::int64_t correct = labels[i] == predictions[i] ? 1 : 0;
    ++current_.samples[label];
    ++current_.all_samples;
    current_.correct[label] += correct;
    current_.all_correct += correct;
  }
}

void RecallScorer::end_epoch() {
  if (current_.all_samples == 0) {
    throw InvalidArgument(
        "RecallScorer::end_epoch: nothing was added in this epoch; add the held-out data first");
  }
  if (!best_ || is_greater_ratio(current_.all_correct, current_.all_samples, best_->all_correct,
                                 best_->all_samples)) {
    best_ = current_;
  }
  current_ = Counts(current_.samples.size());
}

void RecallScorer::end_model() {
  if (current_.all_samples > 0) {
    throw InvalidArgument(
        formatted("RecallScorer::end_model: an epoch with {} samples is open; call end_epoch first",
                  current_.all_samples));
  }
  if (!best_) {
    throw InvalidArgument("RecallScorer::end_model: the model had no epoch; call end_epoch first");
  }
  add_recalls(*best_, ended_);
  ++ended_models_;
  best_.reset();
}

std::vector<double> RecallScorer::recalls() const {
  if (ended_models_ == 0 && !best_) {
    throw InvalidArgument("RecallScorer::recalls: no epoch has ended; call end_epoch first");
  }
  Sums sums = ended_;
  if (best_) add_recalls(*best_, sums);
  for (std::size_t j = 0; j < sums.recall.size(); ++j) {
    sums.recall[j] = sums.models[j] > 0 ? sums.recall[j] / static_cast<double>(sums.models[j])
                                        : std::numeric_limits<double>::quiet_NaN();
  }
  return sums.recall;
}

void RecallScorer::add_recalls(const Counts& epoch, Sums& sums) {
  for (std::size_t j = 0; j < epoch.samples.size(); ++j) {
    if (epoch.samples[j] == 0) continue;
    sums.recall[j] += static_cast<double>(epoch.correct[j]) / static_cast<double>(epoch.samples[j]);
    ++sums.models[j];
  }
}

}  // namespace rcap
