#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "rcap/core/class_index.hpp"
#include "rcap/core/export.hpp"
#include "rcap/core/inverse_chance.hpp"
#include "rcap/core/sample_set.hpp"
#include "rcap/core/state_file.hpp"

RCAP_API_BEGIN
namespace rcap {

/// The sums of a class's weighted losses.
struct ClassLoss {
  double sum = 0;     ///< of weight times loss
  double weight = 0;  ///< of the weights, which are not 0

  ClassLoss& operator+=(const ClassLoss& other) {
    sum += other.sum;
    weight += other.weight;
    return *this;
  }
};

/// The last seen loss of every sample (phi in the paper), clipped at a limit of its
/// class: by default the largest initial loss of the class. Four bytes per sample.
///
/// The loss of a sample with a length is the mean over its tokens, and counts in all sums as often
/// as it has tokens.
///
/// Losses arrive in random order, so every additional array that `record` touched would cost a
/// cache miss. It therefore only stores, and `clip` applies the limits later, in memory order.
/// Every other function reads clipped losses.
///
/// Of a data set that is cut into shards, losses are here of the shard's samples alone, but limits
/// and sums are those of all; all ranks call the functions that find them.
class LossMemory {
 public:
  explicit LossMemory(std::shared_ptr<const ClassIndex> classes);

  /// Every sample starts with `loss`, clipped at the limit if limits are fixed; otherwise nothing
  /// is clipped.
  void fill(float loss);
  /// Clips every class at `limit` from now on, instead of at its largest first loss. Call it
  /// before any loss is stored.
  void fix_limits(float limit);
  /// Uses the losses of the members of `seen`, which must not be empty, as the first losses:
  /// every other sample gets the mean of its class (of all classes, if nothing of its class was
  /// seen), and from then on every class is clipped at its largest unless limits are fixed.
  void start_from(const SampleSet& seen, const Workers& workers = 1);

  /// Records losses of the pass before training: they raise the limit of their
  /// class unless limits are fixed. Ids must exist; losses finite and >= 0.
  void record_initial(std::span<const SampleId> ids, std::span<const float> losses);
  /// Uses the highest limits of all shards, as it must be after the last `record_initial`.
  void share_limits();
  /// Records losses of training.
  void record(std::span<const SampleId> ids, std::span<const float> losses);
  /// The same for any samples, whether or not the next `clip` covers them: clipped at once.
  void record_clipped(std::span<const SampleId> ids, std::span<const float> losses);
  /// Prefetches the memory of these samples, which `record` will write.
  void prefetch(std::span<const SampleId> ids) const;
  /// Clips the losses of the members of `samples`, which must include every sample recorded
  /// since the last call, and returns their sums (`class_sums`).
  std::vector<double> clip(const SampleSet& samples, const Workers& workers = 1);
  /// The same with a weight for each member, in ascending order (`class_losses`).
  std::vector<ClassLoss> clip(const SampleSet& samples, std::span<const InverseChance> weights,
                              const Workers& workers = 1);
  /// How many of the losses that are here the last `clip` cut.
  [[nodiscard]] std::int64_t cut_count() const noexcept { return cut_count_; }

  /// The loss of one sample.
  [[nodiscard]] float loss(SampleId id) const noexcept {
    return clipped(id, static_cast<std::size_t>(classes_->class_of(id)));
  }
  /// The losses of all samples; those recorded since the last `clip` are not clipped.
  [[nodiscard]] std::span<const float> stored_losses() const noexcept { return losses_; }
  [[nodiscard]] std::span<const float> class_limits() const noexcept { return class_limits_; }

  /// Sums the losses of every class over the members of `samples`. Added up in a
  /// fixed order, so the sums do not depend on the workers.
  [[nodiscard]] std::vector<double> class_sums(const SampleSet& samples,
                                               const Workers& workers = 1) const;

  /// The same with a weight for each member, in ascending order.
  [[nodiscard]] std::vector<ClassLoss> class_losses(const SampleSet& samples,
                                                    std::span<const InverseChance> weights,
                                                    const Workers& workers = 1) const;

  /// For every class the part of its softmax(phi / beta) that falls on members of
  /// `samples`: 1 if all of it does. Added up in a fixed order.
  [[nodiscard]] std::vector<double> class_masses(const SampleSet& samples, double beta,
                                                 const Workers& workers = 1) const;

  /// The arrays for a state file.
  void list_state(StateFields& fields) {
    fields.sample_losses("losses", losses_);
    fields.losses("class_limits", class_limits_);
  }

 private:
  /// Clips one sample.
  /// @return whether it lay above the limit
  bool cut(std::size_t id, std::size_t class_id) noexcept {
    const bool is_above = losses_[id] > class_limits_[class_id];
    losses_[id] = std::min(losses_[id], class_limits_[class_id]);
    return is_above;
  }
  /// Clips the members and counts those cut; for each class, the sum of `term(id, loss times
  /// tokens, place among the members)`.
  template <class Sum, class Term>
  std::vector<Sum> clip_and_sum(const SampleSet& samples, const Workers& workers, const Term& term);
  [[nodiscard]] float clipped(SampleId id, std::size_t class_id) const noexcept {
    return std::min(losses_[static_cast<std::size_t>(id)], class_limits_[class_id]);
  }

  std::shared_ptr<const ClassIndex> classes_;
  std::vector<float> losses_;
  std::vector<float> class_limits_;
  bool limits_fixed_ = false;
  std::int64_t cut_count_ = 0;
};

}  // namespace rcap
RCAP_API_END
