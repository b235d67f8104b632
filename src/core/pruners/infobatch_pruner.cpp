#include "rcap/core/pruners/infobatch_pruner.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/by_value.hpp"
#include "core/prefetch.hpp"
#include "core/sum_rows.hpp"
#include "rcap/core/class_budget.hpp"
#include "rcap/core/weighted_draw.hpp"

namespace rcap {
namespace {

/// Kept samples never weigh more than 1 / LeastKept.
constexpr double LeastKept = 0.1;

/// Of a sample whose loss is not known yet, as in the published library.
constexpr float UnseenScore = 3.0F;

/// Of all shards; added up piece by piece in a fixed order.
double mean_of(const Shard& shard, std::span<const float> values, const Workers& workers) {
  const std::vector<double> sum = sum_rows<double>(
      shard, {shard.total(), 1 << 16}, shard.begins(), 1, workers,
      [&](std::int64_t begin, std::int64_t end, double* piece) {
        const auto of_piece = values.subspan(static_cast<std::size_t>(begin - shard.first_id()),
                                             static_cast<std::size_t>(end - begin));
        *piece = std::accumulate(of_piece.begin(), of_piece.end(), *piece);
      });
  return sum.front() / static_cast<double>(shard.total());
}

}  // namespace

void list_options(OptionFields& fields, InfoBatchOptions& options) {
  fields
      .count("epochs", options.epochs, "E",
             "epochs of the whole run, which decide when pruning ends",
             Range::between(1, MostEpochs))
      .required();
  fields.count(
      "batch_size", options.batch_size, "B",
      "batch size of the run, to shorten it to the pruning rate; without it the rate has no effect",
      Range::between(1, 2'147'483'647));
  fields.number("prune_probability", options.prune_probability, "P",
                "fraction of the samples below the mean loss that is left out",
                Range::proper_part());
  fields.number("annealing", options.annealing, "D", "fraction of the run that prunes",
                Range::between(0, 1));
}

InfoBatchPruner::InfoBatchPruner(std::shared_ptr<const ClassIndex> classes,
                                 const CommonOptions& common, const InfoBatchOptions& options)
    : Pruner("infobatch", std::move(classes), common),
      options_(options),
      scores_(static_cast<std::size_t>(this->classes().local_count()), UnseenScore),
      rescaled_(this->classes().local_count()) {
  check_options(options);
  kept_part_ = std::max(LeastKept, 1 - options.prune_probability);
  if (options.batch_size) {
    const std::int64_t epoch_batches =
        batches_of(this->classes().sample_count(), *options.batch_size);
    const double wanted = (1 - common.pruning_rate) * static_cast<double>(options.epochs) *
                          static_cast<double>(epoch_batches);
    total_batches_ = std::max(std::llround(wanted), 1LL);  // who trains wants to train on something
  }
}

bool InfoBatchPruner::prunes(std::int64_t epoch) const {
  // Before the first loss all scores are equal, and none lies below their mean.
  if (!observed_any_) return false;
  if (total_batches_) {
    return static_cast<double>(used_batches_) <
           options_.annealing * static_cast<double>(*total_batches_);
  }
  return static_cast<double>(epoch + 1) <=
         options_.annealing * static_cast<double>(options_.epochs);
}

std::optional<std::int64_t> InfoBatchPruner::plan_batches(std::int64_t epochs,
                                                          std::int64_t batch_size) const {
  if (epochs != options_.epochs || batch_size != options_.batch_size) return std::nullopt;
  return total_batches_;
}

void InfoBatchPruner::make_selection(std::int64_t epoch, SampleSet& selected,
                                     const Workers& workers) {
  selected = SampleSet::all(classes().local_count());
  rescaled_ = SampleSet(classes().local_count());
  if (prunes(epoch)) {
    const SampleSet below = samples_below(scores_, mean_of(shard(), scores_, workers));
    const auto kept = static_cast<std::int64_t>(
        kept_part_ * static_cast<double>(shard().sum(below.count())) + 1e-6);
    rescaled_ = draw_from(shard(), below, kept, stream(Purpose::Selection, epoch), workers);
    selected.subtract(below);
    selected.unite(rescaled_);
  }
  if (total_batches_) cut_to_budget(epoch, selected, workers);
}

void InfoBatchPruner::cut_to_budget(std::int64_t epoch, SampleSet& selected,
                                    const Workers& workers) {
  const std::int64_t batch_size = *options_.batch_size;
  const std::int64_t count = shard().sum(selected.count());
  const std::int64_t wanted = batches_of(count, batch_size);
  const std::int64_t left = *total_batches_ - used_batches_;
  if (wanted > left) {
    selected = draw_from(shard(), selected, std::min(count, left * batch_size),
                         stream(Purpose::Budget, epoch), workers);
  }
  used_batches_ += std::min(wanted, left);
}

void InfoBatchPruner::prefetch(std::span<const SampleId> ids) const {
  prefetch_numbers(scores_, ids);
}

void InfoBatchPruner::record(std::span<const SampleId> ids, std::span<const float> losses) {
  store_numbers(ids, losses, scores_);
  if (!ids.empty()) observed_any_ = true;
}

void InfoBatchPruner::weigh(std::span<const SampleId> ids, const Workers&,
                            std::vector<float>& weights) {
  if (!shard().any(rescaled_.count() > 0)) return weights.clear();
  const auto weight = static_cast<float>(1 / kept_part_);
  weights.resize(ids.size());
  std::ranges::transform(ids, weights.begin(),
                         [&](SampleId id) { return rescaled_.contains(id) ? weight : 1.0F; });
}

void InfoBatchPruner::list_state(StateFields& fields) {
  fields.number("used_batches", used_batches_);
  fields.flag("observed_any", observed_any_);
  fields.sample_losses("scores", scores_);
  fields.samples("rescaled", rescaled_);
}

}  // namespace rcap
