#include "rcap/core/pruners/seta_pruner.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "core/by_value.hpp"
#include "core/prefetch.hpp"
#include "rcap/core/weighted_draw.hpp"

namespace rcap {
namespace {

/// Of a sample that was never trained on, as in the published code: hard, but not the hardest.
constexpr float UnseenLoss = 3.0F;

std::int64_t part_of(double part, std::int64_t count) {
  return static_cast<std::int64_t>(part * static_cast<double>(count) + 1e-6);
}

}  // namespace

void list_options(OptionFields& fields, SetaOptions& options) {
  const auto has_groups = [&options] { return !options.budget; };
  fields
      .count("epochs", options.epochs, "E",
             "epochs of the whole run, which decide when the window stops sliding",
             Range::between(1, MostEpochs))
      .required();
  fields.flag("budget", options.budget,
              "a window of exactly as many samples as the pruning rate says; off: of whole groups, "
              "as published, and the rate has no effect");
  fields.count("groups", options.groups, "G", "groups of samples of similar loss",
               Range::between(1, 1000));
  fields
      .number("window", options.window, "W", "fraction of the groups in a window",
              Range{.low = 0, .high = 1, .low_is_open = true})
      .applies_if(has_groups, "is for windows of groups (budget off)");
  fields.number("random_pruning", options.random_pruning, "P",
                "fraction of all samples that is left out at random first", Range::proper_part());
  fields.number("annealing", options.annealing, "D",
                "fraction of the run in which the window slides; then random subsets",
                Range::between(0, 1));
}

SetaPruner::SetaPruner(std::shared_ptr<const ClassIndex> classes, const CommonOptions& common,
                       const SetaOptions& options)
    : Pruner("seta", std::move(classes), common),
      options_(options),
      losses_(static_cast<std::size_t>(this->classes().sample_count()), UnseenLoss) {
  check_options(options);
}

bool SetaPruner::slides(std::int64_t epoch) const {
  return observed_any_ && static_cast<double>(epoch + 1) <=
                              options_.annealing * static_cast<double>(options_.epochs);
}

std::int64_t SetaPruner::window_groups(std::int64_t candidates) const {
  const double part = options_.budget
                          ? static_cast<double>(keep_count()) / static_cast<double>(candidates)
                          : options_.window;
  return std::clamp<std::int64_t>(std::llround(part * static_cast<double>(options_.groups)), 1,
                                  options_.groups);
}

void SetaPruner::make_selection(std::int64_t epoch, SampleSet& selected, const Workers& workers) {
  const std::int64_t sample_count = classes().sample_count();
  const std::int64_t random_part = sample_count - part_of(options_.random_pruning, sample_count);
  if (!slides(epoch)) {
    selected = draw_uniform(sample_count, options_.budget ? keep_count() : random_part,
                            stream(Purpose::Selection, epoch), workers);
    return;
  }
  const std::int64_t least = options_.budget ? keep_count() : 1;
  const SampleSet candidates = random_part == sample_count
                                   ? SampleSet::all(sample_count)
                                   : draw_uniform(sample_count, std::max(random_part, least),
                                                  stream(Purpose::Selection, epoch), workers);
  selected = options_.budget ? window_of_budget(epoch, candidates, workers)
                             : window_of_groups(epoch, candidates, workers);
}

SampleSet SetaPruner::window_of_budget(std::int64_t epoch, const SampleSet& candidates,
                                       const Workers& workers) const {
  const std::int64_t count = candidates.count();
  const std::int64_t steps = options_.groups - window_groups(count);
  const std::int64_t step = epoch % (steps + 1);
  const std::int64_t first = steps == 0 ? 0 : step * (count - keep_count()) / steps;
  return samples_at_places(losses_, candidates, first, keep_count(),
                           stream(Purpose::Exploration, epoch), workers);
}

SampleSet SetaPruner::window_of_groups(std::int64_t epoch, const SampleSet& candidates,
                                       const Workers& workers) const {
  std::vector<float> losses;
  for (const SampleId id : candidates.ids(workers)) {
    losses.push_back(losses_[static_cast<std::size_t>(id)]);
  }
  const std::int64_t window = window_groups(candidates.count());
  const auto [lowest, highest] = std::ranges::minmax(losses);
  if (lowest == highest) {  // nothing tells the groups apart: groups of equal size
    const std::int64_t count = candidates.count() * window / options_.groups;
    return draw_from(candidates, std::max<std::int64_t>(count, 1),
                     stream(Purpose::Exploration, epoch), workers);
  }
  const std::vector<float> starts = group_starts(std::move(losses), options_.groups);
  const std::int64_t first = epoch % (options_.groups - window + 1);
  const auto last = static_cast<std::size_t>(first + window);
  const double end = last < starts.size() ? static_cast<double>(starts[last])
                                          : std::numeric_limits<double>::infinity();
  SampleSet selected = samples_below(losses_, end);
  selected.subtract(samples_below(losses_, starts[static_cast<std::size_t>(first)]));
  SampleSet others = SampleSet::all(candidates.sample_count());
  others.subtract(candidates);
  selected.subtract(others);
  select_at_least(classes().filled_class_count(), losses_, selected);
  return selected;
}

void SetaPruner::prefetch(std::span<const SampleId> ids) const { prefetch_numbers(losses_, ids); }

void SetaPruner::record(std::span<const SampleId> ids, std::span<const float> losses) {
  store_numbers(ids, losses, losses_);
  if (!ids.empty()) observed_any_ = true;
}

std::optional<std::int64_t> SetaPruner::plan_batches(std::int64_t epochs,
                                                     std::int64_t batch_size) const {
  if (!options_.budget) return std::nullopt;
  return Pruner::plan_batches(epochs, batch_size);
}

void SetaPruner::list_state(StateFields& fields) {
  fields.flag("observed_any", observed_any_);
  fields.losses("losses", losses_);
}

}  // namespace rcap
