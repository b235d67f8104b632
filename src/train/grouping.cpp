#include "train/grouping.hpp"

#include <fmt/format.h>

#include "rcap/core/error.hpp"

namespace rcap {

std::span<const ClassId> groups_of(const Split& split, GroupBy group_by) noexcept {
  return group_by == GroupBy::Class ? split.labels : split.groups;
}

std::span<const std::string> group_names(const Dataset& dataset, GroupBy group_by) noexcept {
  return group_by == GroupBy::Class ? dataset.class_names : dataset.group_names;
}

std::vector<std::int64_t> group_sizes(const Dataset& dataset, const Split& split,
                                      GroupBy group_by) {
  std::vector<std::int64_t> sizes(group_names(dataset, group_by).size());
  for (const ClassId group : groups_of(split, group_by)) ++sizes[static_cast<std::size_t>(group)];
  return sizes;
}

void require_groups(const Dataset& dataset, GroupBy group_by) {
  if (group_by == GroupBy::Class || !dataset.group_names.empty()) return;
  throw InvalidArgument(fmt::format(
      "group-by is group: {} has no groups; choose class (waterbirds and celeba have groups)",
      dataset.name));
}

}  // namespace rcap
