#include "rcap/core/pruners/dropout_pruner.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "core/by_value.hpp"
#include "core/keys.hpp"
#include "core/prefetch.hpp"
#include "rcap/core/class_budget.hpp"
#include "rcap/core/weighted_draw.hpp"

namespace rcap {

void list_options(OptionFields& fields, DropoutOptions& options) {
  const auto by_losses = [&options] { return reads_losses(options); };
  const auto by_schedule = [&options] { return !reads_losses(options); };
  fields.choice("rule", options.rule, {"dbpd", "srd", "smrd"},
                "what to train on: samples that the network is not sure of, a random subset that "
                "shrinks every epoch, or a random subset as large as the first");
  fields
      .count("epochs", options.epochs, "E", "epochs of the whole run, the last of which has all",
             Range::between(1, MostEpochs))
      .required();
  fields
      .number("confidence", options.confidence, "P",
              "drop a sample once its true class has at least this probability",
              Range{.low = 0, .high = 1, .low_is_open = true})
      .applies_if(by_losses, "is for the rules dbpd and smrd");
  fields
      .number("decay", options.decay, "G", "factor by which the subset shrinks every epoch",
              Range{.low = 0, .high = 1, .low_is_open = true})
      .applies_if(by_schedule, "is for the rule srd");
  fields
      .flag("refresh", options.refresh,
            "a forward pass over dropped samples after each epoch; off: they stay dropped until "
            "the last")
      .applies_if(by_losses, "is for the rules dbpd and smrd");
}

DropoutPruner::DropoutPruner(std::shared_ptr<const ClassIndex> classes, const CommonOptions& common,
                             const DropoutOptions& options)
    : Pruner("dropout", std::move(classes), common), options_(options) {
  check_options(options);
  if (learns()) {
    losses_.assign(static_cast<std::size_t>(this->classes().sample_count()),
                   std::numeric_limits<float>::max());
  }
}

std::int64_t DropoutPruner::scheduled_count(std::int64_t epoch) const {
  const std::int64_t sample_count = classes().sample_count();
  if (epoch + 1 >= options_.epochs) return sample_count;
  auto wanted = static_cast<double>(sample_count);
  const auto least = static_cast<double>(classes().filled_class_count());
  for (std::int64_t past = 0; past < epoch && wanted > least; ++past) wanted *= options_.decay;
  // A whole number that rounding has lifted by a little is that number.
  return std::max(static_cast<std::int64_t>(std::ceil(wanted - 1e-6)),
                  static_cast<std::int64_t>(least));
}

void DropoutPruner::make_selection(std::int64_t epoch, SampleSet& selected,
                                   const Workers& workers) {
  const std::int64_t sample_count = classes().sample_count();
  const RandomStream random = stream(Purpose::Selection, epoch);
  if (options_.rule == DropoutRule::Srd) {
    selected = draw_uniform(sample_count, scheduled_count(epoch), random, workers);
    return;
  }
  if (epoch + 1 >= options_.epochs) {
    selected = SampleSet::all(sample_count);
    return;
  }
  // For cross entropy, p < confidence is loss > -ln(confidence).
  selected = samples_above(losses_, -exact_log(options_.confidence));
  select_at_least(classes().filled_class_count(), losses_, selected);
  if (options_.rule == DropoutRule::Smrd) {
    selected = draw_uniform(sample_count, selected.count(), random, workers);
  }
}

void DropoutPruner::prefetch(std::span<const SampleId> ids) const {
  if (learns()) prefetch_numbers(losses_, ids);
}

void DropoutPruner::record(std::span<const SampleId> ids, std::span<const float> losses) {
  store_numbers(ids, losses, losses_);
}

std::optional<std::int64_t> DropoutPruner::plan_batches(std::int64_t epochs,
                                                        std::int64_t batch_size) const {
  if (learns() || epochs > options_.epochs) return std::nullopt;
  std::int64_t batches = 0;
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    batches += batches_of(scheduled_count(epoch), batch_size);
  }
  return batches;
}

}  // namespace rcap
