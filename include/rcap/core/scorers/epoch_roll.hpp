#pragma once

#include <cstdint>
#include <span>

#include "rcap/core/export.hpp"
#include "rcap/core/sample_set.hpp"

RCAP_API_BEGIN
namespace rcap {

/// Which samples a scorer has been given in the current epoch: every sample has to come once in
/// every epoch, or scores could not be compared. Keeps a bit per sample.
class EpochRoll {
 public:
  /// @param scorer  the name that messages begin with; a literal
  EpochRoll(const char* scorer, std::int64_t sample_count)
      : scorer_(scorer), missing_(SampleSet::all(sample_count)) {}

  /// Marks samples of the data set as added, all or none.
  /// @throws InvalidArgument  one was added in this epoch before; names it
  void mark_added(std::span<const SampleId> ids);

  /// Ends the current epoch.
  /// @throws InvalidArgument  names the first sample that was not added in it; the epoch then
  ///                          stays open
  void end_epoch();

  /// How many epochs have ended, which is the number of the current one.
  [[nodiscard]] std::int64_t epoch() const noexcept { return epoch_; }
  /// Whether some samples have been added in the current epoch.
  [[nodiscard]] bool in_mid_epoch() const noexcept {
    return missing_.count() < missing_.sample_count();
  }

 private:
  const char* scorer_;
  std::int64_t epoch_ = 0;
  SampleSet missing_;  ///< not added yet in the current epoch
};

}  // namespace rcap
RCAP_API_END
