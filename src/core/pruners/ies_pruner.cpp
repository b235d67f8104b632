#include "rcap/core/pruners/ies_pruner.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "core/by_value.hpp"
#include "rcap/core/top_scores.hpp"

namespace rcap {
namespace {

constexpr float UnknownPoint = std::numeric_limits<float>::max();

/// How far a curve bends at its point `at`.
double bend(const float* curve, std::size_t at) {
  return std::abs(static_cast<double>(curve[at + 1]) - 2 * static_cast<double>(curve[at]) +
                  static_cast<double>(curve[at - 1]));
}

}  // namespace

void list_options(OptionFields& fields, IesOptions& options) {
  fields.number("threshold", options.threshold, "T",
                "leave a sample out while the second difference of its losses lies below this",
                Range::above(0));
  fields.flag("refresh", options.refresh,
              "a forward pass over samples left out after each epoch; off: none comes back");
}

IesPruner::IesPruner(std::shared_ptr<const ClassIndex> classes, const CommonOptions& common,
                     const IesOptions& options)
    : Pruner("ies", std::move(classes), common),
      options_(options),
      curves_(Losses * static_cast<std::size_t>(this->classes().sample_count()), UnknownPoint) {
  check_options(options);
}

void IesPruner::make_selection(std::int64_t, SampleSet& selected, const Workers&) {
  const auto sample_count = static_cast<std::size_t>(classes().sample_count());
  const double most = 3 * options_.threshold;
  selected = SampleSet(classes().sample_count());
  for (std::size_t id = 0; id < sample_count; ++id) {
    const float* curve = curves_.data() + Losses * id;
    const bool mastered =
        curve[0] != UnknownPoint && bend(curve, 2) + bend(curve, 3) + bend(curve, 4) < most;
    selected.words()[id / 64] |= static_cast<std::uint64_t>(!mastered) << (id % 64);
  }
  const std::int64_t least = classes().filled_class_count();
  if (selected.count() >= least) return;
  std::vector<float> newest(sample_count);
  for (std::size_t id = 0; id < sample_count; ++id) newest[id] = curves_[Losses * id + Losses - 1];
  select_at_least(least, newest, selected);
}

void IesPruner::prefetch(std::span<const SampleId> ids) const {
  for (const SampleId id : ids) {
    __builtin_prefetch(curves_.data() + Losses * static_cast<std::size_t>(id), 1, 2);
  }
}

void IesPruner::record(std::span<const SampleId> ids, std::span<const float> losses) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    float* curve = curves_.data() + Losses * static_cast<std::size_t>(ids[i]);
    for (std::size_t at = 0; at + 1 < Losses; ++at) curve[at] = curve[at + 1];
    curve[Losses - 1] = losses[i];
  }
}

}  // namespace rcap
