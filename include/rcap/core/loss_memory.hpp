#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rcap/core/class_index.hpp"
#include "rcap/core/sample_set.hpp"

namespace rcap {

/// The last seen loss of every sample (phi in the paper), clipped at a limit of its
/// class: by default the largest initial loss of the class. Four bytes a sample.
class LossMemory {
 public:
  explicit LossMemory(std::shared_ptr<const ClassIndex> classes);

  /// Every sample starts with `loss`, every class is clipped there.
  void fill(float loss);
  /// Clips every class at `limit` from now on, instead of at its first maximum.
  void fix_limits(float limit);

  /// Records losses of the pass before training: they raise the limit of their
  /// class unless limits are fixed. Ids must exist; losses finite and >= 0.
  void record_initial(std::span<const SampleId> ids, std::span<const float> losses);
  /// Records losses of training, clipped at the limit of their class.
  void record(std::span<const SampleId> ids, std::span<const float> losses);

  [[nodiscard]] std::span<const float> losses() const noexcept { return losses_; }
  [[nodiscard]] std::span<const float> class_limits() const noexcept { return class_limits_; }

  /// Sums the losses of every class over the members of `samples`. Added up in a
  /// fixed order, so the sums do not depend on `threads`.
  [[nodiscard]] std::vector<double> class_sums(const SampleSet& samples, int threads = 1) const;

  /// For every class the part of its softmax(phi / beta) that lies on the members of
  /// `samples`: 1 where all of it does. Added up in a fixed order.
  [[nodiscard]] std::vector<double> class_masses(const SampleSet& samples, double beta,
                                                 int threads = 1) const;

  /// The arrays for a state file.
  [[nodiscard]] std::vector<float>& stored_losses() noexcept { return losses_; }
  [[nodiscard]] std::vector<float>& stored_limits() noexcept { return class_limits_; }

 private:
  std::shared_ptr<const ClassIndex> classes_;
  std::vector<float> losses_;
  std::vector<float> class_limits_;
  bool limits_fixed_ = false;
};

}  // namespace rcap
