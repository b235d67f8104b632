#include "train/grouping.hpp"

#include <algorithm>
#include <cmath>

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

std::vector<double> class_log_prior(std::span<const double> log_prior,
                                    std::span<const ClassId> groups,
                                    std::span<const ClassId> labels, ClassId class_count) {
  std::vector<double> sizes(log_prior.size());
  for (const ClassId group : groups) ++sizes[static_cast<std::size_t>(group)];
  std::vector<double> parts(static_cast<std::size_t>(class_count));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto group = static_cast<std::size_t>(groups[i]);
    parts[static_cast<std::size_t>(labels[i])] += std::exp(log_prior[group]) / sizes[group];
  }
  const double lowest = std::ranges::min(log_prior);
  std::ranges::transform(parts, parts.begin(),
                         [&](double part) { return part > 0 ? std::log(part) : lowest; });
  return parts;
}

void require_groups(const Dataset& dataset, GroupBy group_by) {
  if (group_by == GroupBy::Class || !dataset.group_names.empty()) return;
  throw InvalidArgument(fmt::format(
      "group-by is group: {} has no groups; choose class (waterbirds and celeba have groups)",
      dataset.name));
}

}  // namespace rcap
