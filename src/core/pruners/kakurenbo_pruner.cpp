#include "rcap/core/pruners/kakurenbo_pruner.hpp"

#include <cstddef>
#include <limits>
#include <utility>

#include "core/by_value.hpp"
#include "core/keys.hpp"
#include "core/prefetch.hpp"
#include "rcap/core/top_scores.hpp"

namespace rcap {
namespace {

constexpr float UnknownLoss = std::numeric_limits<float>::max();

/// The published schedule: from which part of the run on, how much of F is hidden.
struct HidingPhase {
  double from;
  double part;
};
constexpr HidingPhase HidingPhases[]{{0.8, 0.4}, {0.6, 0.6}, {0.3, 0.8}, {0, 1}};

}  // namespace

void list_options(OptionFields& fields, KakurenboOptions& options) {
  fields
      .count("epochs", options.epochs, "E",
             "epochs of the whole run, over which fewer and fewer samples are hidden",
             Range::between(1, MostEpochs))
      .required();
  fields.number("hidden", options.hidden, "F", "largest fraction of the samples that is hidden",
                Range::proper_part());
  fields.number("confidence", options.confidence, "P",
                "hide a sample only if its true class has at least this probability",
                Range{.low = 0, .high = 1, .low_is_open = true});
  fields.flag("refresh", options.refresh,
              "a forward pass over hidden samples after each epoch; off: they keep their losses");
}

KakurenboPruner::KakurenboPruner(std::shared_ptr<const ClassIndex> classes,
                                 const CommonOptions& common, const KakurenboOptions& options)
    : Pruner("kakurenbo", std::move(classes), common),
      options_(options),
      losses_(static_cast<std::size_t>(this->classes().sample_count()), UnknownLoss) {
  check_options(options);
}

double KakurenboPruner::hidden_part(std::int64_t epoch) const noexcept {
  for (const HidingPhase& phase : HidingPhases) {
    if (static_cast<double>(epoch) >= phase.from * static_cast<double>(options_.epochs)) {
      return phase.part * options_.hidden;
    }
  }
  return options_.hidden;
}

double KakurenboPruner::rate_factor(std::int64_t epoch) const {
  return epoch == 0 ? 1 : 1 / (1 - hidden_part(epoch));
}

void KakurenboPruner::make_selection(std::int64_t epoch, SampleSet& selected, const Workers&) {
  const std::int64_t sample_count = classes().sample_count();
  const auto most =
      static_cast<std::int64_t>(hidden_part(epoch) * static_cast<double>(sample_count) + 1e-6);
  // For cross entropy, p >= confidence is loss <= -ln(confidence).
  selected = samples_above(losses_, -exact_log(options_.confidence));
  if (selected.count() < sample_count - most) selected = top_scores(losses_, sample_count - most);
}

void KakurenboPruner::prefetch(std::span<const SampleId> ids) const {
  prefetch_numbers(losses_, ids);
}

void KakurenboPruner::record(std::span<const SampleId> ids, std::span<const float> losses) {
  store_numbers(ids, losses, losses_);
}

}  // namespace rcap
