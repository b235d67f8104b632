#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "data/dataset.hpp"

namespace rcap {

/// How many images of a split were published.
struct OfficialCounts {
  std::string_view split;  ///< "training" or "test"
  std::int64_t total = 0;
  std::span<const std::int64_t> parts{};  ///< by group, or by class if there are none; or empty
};

/// A remark that compares a split with what was published: complete, a subset, too many, or the
/// right number of images but not of each part.
[[nodiscard]] std::string compare_counts(const OfficialCounts& official, const Split& split,
                                         std::span<const std::string> part_names);

}  // namespace rcap
