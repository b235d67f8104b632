#include "rcap/core/pruners/top_loss_pruner.hpp"

#include <cstddef>
#include <utility>

#include "core/prefetch.hpp"
#include "rcap/core/top_scores.hpp"

namespace rcap {

TopLossPruner::TopLossPruner(std::shared_ptr<const ClassIndex> classes, const CommonOptions& common)
    : Pruner("top-loss", std::move(classes), common),
      losses_(static_cast<std::size_t>(this->classes().local_count())) {}

void TopLossPruner::make_selection(std::int64_t, SampleSet& selected, const Workers&) {
  selected = top_scores(shard(), losses_, keep_tokens(), classes().lengths());
}

void TopLossPruner::prefetch(std::span<const SampleId> ids) const {
  prefetch_numbers(losses_, ids);
}

void TopLossPruner::record(std::span<const SampleId> ids, std::span<const float> losses) {
  store_numbers(ids, losses, losses_);
}

}  // namespace rcap
