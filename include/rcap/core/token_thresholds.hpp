#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "rcap/core/export.hpp"

RCAP_API_BEGIN
namespace rcap {

/// What a draw with token budgets leaves behind of each class: the keys by which the chance of a
/// drawn sample can be told, which depends on its length.
///
/// Let T be the tokens of the samples up to and with one of them, in the order of their keys. Given
/// the others, a sample of length l was drawn because its key exceeds that of the first one whose T
/// is at least budget + l / 2 (`docs/algorithm.md`). Without lengths that is the best sample that
/// was not drawn, whichever sample is asked about.
class TokenThresholds {
 public:
  /// A sample that ends beyond the budget.
  struct Mark {
    std::int64_t tokens;  ///< of all up to and with it
    double key;
  };

  /// Forgets everything.
  /// @param budgets  of the classes, in tokens
  void reset(std::span<const std::int64_t> budgets) {
    budgets_.assign(budgets.begin(), budgets.end());
    marks_.resize(budgets.size());
    for (std::vector<Mark>& marks : marks_) marks.clear();
  }
  /// The first ones of a class, for the caller to fill in their order.
  [[nodiscard]] std::vector<Mark>& marks(std::size_t class_id) { return marks_[class_id]; }

  /// The key that a drawn sample of this length had to exceed; minus infinity if it was certain to
  /// be drawn.
  [[nodiscard]] double of(std::size_t class_id, std::uint32_t length) const {
    const std::int64_t twice_reached = 2 * budgets_[class_id] + length;
    const auto& marks = marks_[class_id];
    const auto found = std::ranges::lower_bound(marks, twice_reached, {},
                                                [](const Mark& mark) { return 2 * mark.tokens; });
    return found == marks.end() ? -std::numeric_limits<double>::infinity() : found->key;
  }

 private:
  std::vector<std::int64_t> budgets_;
  std::vector<std::vector<Mark>> marks_;
};

}  // namespace rcap
RCAP_API_END
