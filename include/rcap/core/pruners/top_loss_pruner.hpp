#pragma once

#include <memory>
#include <span>
#include <vector>

#include "rcap/core/export.hpp"
#include "rcap/core/pruner.hpp"

RCAP_API_BEGIN
namespace rcap {

/// Top-loss: the samples of highest remembered loss, whatever their class; among equal losses those
/// of lower id. A sample that is not selected keeps the loss it had. A baseline for other methods:
/// it prefers outliers and wrong labels.
class TopLossPruner final : public Pruner {
 public:
  TopLossPruner(std::shared_ptr<const ClassIndex> classes, const CommonOptions& common);

  [[nodiscard]] bool needs_initial_losses() const noexcept override { return true; }

 private:
  void make_selection(std::int64_t epoch, SampleSet& selected, const Workers& workers) override;
  void record(std::span<const SampleId> ids, std::span<const float> losses) override;
  void prefetch(std::span<const SampleId> ids) const override;
  void list_state(StateFields& fields) override { fields.sample_losses("losses", losses_); }

  std::vector<float> losses_;
};

}  // namespace rcap
RCAP_API_END
