#include "rcap/core/scorers/epoch_roll.hpp"

#include <cstddef>

#include "base/formatted.hpp"
#include "rcap/core/error.hpp"

namespace rcap {

void EpochRoll::mark_added(std::span<const SampleId> ids) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (missing_.erase_present(ids[i])) continue;
    for (const SampleId earlier : ids.first(i)) missing_.insert(earlier);
    throw InvalidArgument(
        formatted("{}::add: sample {} appears twice in epoch {}; add each sample once per epoch",
                  scorer_, ids[i], epoch_));
  }
}

void EpochRoll::end_epoch() {
  if (missing_.count() > 0) {
    throw InvalidArgument(formatted(
        "{}::end_epoch: sample {} was not added in epoch {}; add every sample in every epoch",
        scorer_, missing_.ids().front(), epoch_));
  }
  missing_ = SampleSet::all(missing_.sample_count());
  ++epoch_;
}

}  // namespace rcap
