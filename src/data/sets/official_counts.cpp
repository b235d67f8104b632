#include "data/sets/official_counts.hpp"

#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include "base/number_text.hpp"

namespace rcap {
namespace {

/// The first part whose count differs from the published one, in words; otherwise empty.
std::string find_difference(const OfficialCounts& official, const Split& split,
                            std::span<const std::string> part_names) {
  if (official.parts.empty() || official.parts.size() != part_names.size()) return {};
  const std::vector<std::int32_t>& parts = split.groups.empty() ? split.labels : split.groups;
  std::vector<std::int64_t> counts(part_names.size());
  for (const std::int32_t part : parts) ++counts[static_cast<std::size_t>(part)];
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == official.parts[i]) continue;
    return fmt::format("{} has {} instead of {}", part_names[i], with_commas(counts[i]),
                       with_commas(official.parts[i]));
  }
  return {};
}

}  // namespace

std::string compare_counts(const OfficialCounts& official, const Split& split,
                           std::span<const std::string> part_names) {
  const std::string found = with_commas(split.size());
  const std::string expected = with_commas(official.total);
  if (split.size() < official.total) {
    return fmt::format("a subset: {} of {} {} images", found, expected, official.split);
  }
  if (split.size() > official.total) {
    return fmt::format("{} {} images, more than the {} that were published", found, official.split,
                       expected);
  }
  const std::string difference = find_difference(official, split, part_names);
  if (difference.empty()) return fmt::format("{} {} images, as published", found, official.split);
  return fmt::format("{} {} images, as many as published, but {}", found, official.split,
                     difference);
}

}  // namespace rcap
