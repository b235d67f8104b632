#pragma once

#include <concepts>
#include <cstddef>

#include "rcap/core/ids.hpp"
#include "rcap/core/sample_set.hpp"

namespace rcap {

/// Which group a sample belongs to: groups(id) counts from 0. Called for every sample and
/// from several threads at a time, so it reads memory at most once; cheap to copy, because
/// loops keep a copy of their own.
///
/// One with a member `labels`, an array of the groups of all samples, is counted faster
/// (`count_in_bins`).
template <class G>
concept Grouping = std::copyable<G> && requires(const G& groups, SampleId id) {
  { groups(id) } -> std::same_as<std::size_t>;
};

/// Groups that are classes.
template <class Label>
struct LabelGroups {
  const Label* labels;
  std::size_t operator()(SampleId id) const { return labels[id]; }
};
// clang before 17 does not deduce this on its own.
template <class Label>
LabelGroups(const Label*) -> LabelGroups<Label>;

/// All samples in one group.
struct OneGroup {
  std::size_t operator()(SampleId) const { return 0; }
};

/// Members of a set in group 0, the others in group 1.
struct MemberGroups {
  const SampleSet* members;
  std::size_t operator()(SampleId id) const { return members->contains(id) ? 0 : 1; }
};

}  // namespace rcap
