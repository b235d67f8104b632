#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rcap/core/class_index.hpp"
#include "rcap/core/export.hpp"
#include "rcap/core/sample_set.hpp"
#include "rcap/core/state_file.hpp"
#include "rcap/core/weighted_draw.hpp"

RCAP_API_BEGIN
namespace rcap {

/// What each class still has to give if no sample comes a second time before all others of its
/// class have come once.
///
/// A class goes through its samples in rounds. A window takes samples that have not come in the
/// current round; once these are used up, all of them are in the window, and the rest of its budget
/// begins the next round with the others. So the visits of two samples of a class never differ by
/// more than one, and no sample comes twice in a window.
///
/// One bit per sample.
class Rounds {
 public:
  /// @param max_repeats  how often a sample may come again; empty: as often as the run lasts
  Rounds(std::shared_ptr<const ClassIndex> classes, std::optional<std::int64_t> max_repeats);

  /// The most that a window can take of each class, in tokens.
  [[nodiscard]] std::vector<std::int64_t> available() const;

  /// What a window of these budgets draws from.
  struct Turn {
    SampleSet certain;                           ///< come in any case: the last ones of a round
    SampleSet candidates;                        ///< to draw the rest from
    std::vector<std::int64_t> candidate_tokens;  ///< of each class
    std::vector<std::int64_t> certain_tokens;    ///< of each class

    [[nodiscard]] Candidates as_candidates() const {
      return {&candidates, candidate_tokens, certain_tokens};
    }
  };

  /// @param budgets  of the classes in tokens, each at most what is `available`
  [[nodiscard]] Turn begin(std::span<const std::int64_t> budgets) const;

  /// Notes what was drawn of the candidates; the certain ones are noted, too.
  void end(const Turn& turn, const SampleSet& drawn);

  void list_state(StateFields& fields);

 private:
  [[nodiscard]] std::vector<std::int64_t> unseen_tokens() const;

  std::shared_ptr<const ClassIndex> classes_;
  std::optional<std::int64_t> max_repeats_;
  SampleSet seen_;              ///< in the current round of their class; never all of a class
  std::vector<double> rounds_;  ///< complete ones of each class, whole numbers
};

}  // namespace rcap
RCAP_API_END
