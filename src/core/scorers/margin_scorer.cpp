#include "rcap/core/scorers/margin_scorer.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "base/formatted.hpp"
#include "core/keys.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

using Row = std::span<const float>;

float best_other(Row logits, std::size_t label) {
  float best = -std::numeric_limits<float>::infinity();
  for (std::size_t k = 0; k < logits.size(); ++k) {
    if (k != label) best = std::max(best, logits[k]);
  }
  return best;
}

double margin(Row logits, std::size_t label, MarginKind kind) {
  const double other = best_other(logits, label);
  if (kind == MarginKind::Logit) return logits[label] - other;
  const double highest = std::max<double>(logits[label], other);
  double sum = 0;
  for (const float logit : logits) sum += exact_exp(logit - highest);
  return (exact_exp(logits[label] - highest) - exact_exp(other - highest)) / sum;
}

void check(const ClassIndex& classes, std::span<const SampleId> ids, Row logits) {
  const auto width = static_cast<std::size_t>(classes.class_count());
  if (logits.size() % width != 0 || logits.size() / width != ids.size()) {
    throw InvalidArgument(formatted(
        "MarginScorer::add: {} logits for {} samples; give {} per sample, one for each class",
        logits.size(), ids.size(), width));
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= classes.sample_count()) {
      throw InvalidArgument(formatted("MarginScorer::add: sample {}; ids lie between 0 and {}",
                                      ids[i], classes.sample_count() - 1));
    }
    const Row row = logits.subspan(i * width, width);
    const auto bad =
        std::find_if_not(row.begin(), row.end(), [](float x) { return std::isfinite(x); });
    if (bad != row.end()) {
      throw InvalidArgument(
          formatted("MarginScorer::add: logit {} of sample {} is {}; logits must be finite",
                    bad - row.begin(), ids[i], *bad));
    }
  }
}

}  // namespace

MarginScorer::MarginScorer(std::shared_ptr<const ClassIndex> classes, MarginKind kind)
    : classes_(std::move(classes)),
      kind_(kind),
      sums_(static_cast<std::size_t>(classes_->sample_count())),
      added_(sums_.size()) {
  if (classes_->class_count() < 2) {
    throw InvalidArgument(
        formatted("MarginScorer: {} class; a margin needs at least 2", classes_->class_count()));
  }
}

void MarginScorer::add(std::span<const SampleId> ids, std::span<const float> logits) {
  check(*classes_, ids, logits);
  const auto width = static_cast<std::size_t>(classes_->class_count());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Row row = logits.subspan(i * width, width);
    const auto label = static_cast<std::size_t>(classes_->class_of(ids[i]));
    const auto sample = static_cast<std::size_t>(ids[i]);
    sums_[sample] += margin(row, label, kind_);
    ++added_[sample];
  }
}

std::vector<float> MarginScorer::scores() const {
  const std::uint32_t most = *std::max_element(added_.begin(), added_.end());
  for (std::size_t i = 0; i < added_.size(); ++i) {
    if (added_[i] == 0) {
      throw InvalidArgument(formatted(
          "MarginScorer::scores: sample {} was never added; add every sample in every epoch", i));
    }
    if (added_[i] != most) {
      throw InvalidArgument(formatted(
          "MarginScorer::scores: sample {} was added {} times, others {}; add every sample in "
          "every epoch",
          i, added_[i], most));
    }
  }
  return {sums_.begin(), sums_.end()};
}

}  // namespace rcap
