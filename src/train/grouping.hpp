#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/dataset.hpp"
#include "train/options.hpp"

namespace rcap {

/// The group of each sample of a split: its class, or its group if `group_by` says so.
[[nodiscard]] std::span<const ClassId> groups_of(const Split& split, GroupBy group_by) noexcept;

/// The names of these groups.
[[nodiscard]] std::span<const std::string> group_names(const Dataset& dataset,
                                                       GroupBy group_by) noexcept;

/// How many samples of a split are in each group.
[[nodiscard]] std::vector<std::int64_t> group_sizes(const Dataset& dataset, const Split& split,
                                                    GroupBy group_by);

/// ln of each class's part of what was trained, from the same of the groups: the part of a group
/// goes to the labels of its members. A class without members has the lowest value of all groups.
/// @param log_prior  of the groups
/// @param groups     of each sample
/// @param labels     of each sample
[[nodiscard]] std::vector<double> class_log_prior(std::span<const double> log_prior,
                                                  std::span<const ClassId> groups,
                                                  std::span<const ClassId> labels,
                                                  ClassId class_count);

/// @throws InvalidArgument  groups are asked for, but the data set has none
void require_groups(const Dataset& dataset, GroupBy group_by);

}  // namespace rcap
