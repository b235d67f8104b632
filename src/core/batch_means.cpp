#include "rcap/core/batch_means.hpp"

#include <limits>

#include "base/formatted.hpp"
#include "core/saturate.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

/// The average of a sample that was in no batch yet. Averages of real losses stay below it.
constexpr float NoBatchYet = std::numeric_limits<float>::max();

}  // namespace

void BatchMeans::turn_on(double decay) {
  if (!(decay >= 0 && decay < 1)) {
    throw InvalidArgument(
        formatted("average_batches: decay is {}; it must satisfy 0 <= decay < 1", decay));
  }
  if (kind_ != Unknown) {
    throw InvalidArgument(
        formatted("average_batches: losses of {} were observed before; a run has one kind, chosen "
                  "before the first loss",
                  kind_ == OfSamples ? "single samples" : "batches"));
  }
  kind_ = OfBatches;
  decay_ = {static_cast<float>(decay)};
  averages_.assign(static_cast<std::size_t>(sample_count_), NoBatchYet);
}

std::span<const float> BatchMeans::remembered(std::span<const SampleId> ids,
                                              std::span<const float> losses) {
  if (!is_on()) {
    kind_ = OfSamples;
    return losses;
  }
  const double decay = decay_.front();
  latest_.resize(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    float& average = averages_[static_cast<std::size_t>(ids[i])];
    const double newest = losses[i];
    const double past = average;
    average = saturate(average == NoBatchYet ? newest : decay * past + (1 - decay) * newest);
    latest_[i] = average;
  }
  return latest_;
}

void BatchMeans::list_state(StateFields& fields) {
  fields.number("losses_of", kind_);
  if (kind_ < Unknown || kind_ > OfBatches) {
    throw BadFile(
        formatted("load_state: losses_of is {}; the state was not written by rcap", kind_));
  }
  decay_.resize(is_on() ? 1 : 0);
  averages_.resize(is_on() ? static_cast<std::size_t>(sample_count_) : 0);
  if (!is_on()) return;
  fields.losses("batch_decay", decay_);
  fields.sample_losses("batch_averages", averages_);
  if (!(decay_.front() < 1)) {
    throw BadFile(formatted("load_state: batch_decay is {}; the state was not written by rcap",
                            decay_.front()));
  }
}

}  // namespace rcap
