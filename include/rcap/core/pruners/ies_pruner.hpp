#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "rcap/core/export.hpp"
#include "rcap/core/pruner.hpp"

RCAP_API_BEGIN
namespace rcap {

struct IesOptions {
  /// A sample whose loss curve bends less than this is mastered, threshold > 0.
  double threshold = 1e-3;
  bool refresh = true;  ///< a forward pass over mastered samples; without it none comes back
};

void list_options(OptionFields& fields, IesOptions& options);

/// Instance-dependent early stopping (IES): leaves a sample out while its loss curve is straight,
/// that is while the mean of the last three |l_t - 2 l_{t-1} + l_{t-2}| lies below a threshold. It
/// takes six losses of a sample to tell. Its rule decides how many are left, so the pruning rate
/// has no effect.
///
/// 24 bytes per sample.
class IesPruner final : public Pruner {
 public:
  /// @throws InvalidArgument  on an option out of range; names it
  IesPruner(std::shared_ptr<const ClassIndex> classes, const CommonOptions& common,
            const IesOptions& options);

  [[nodiscard]] bool follows_rate() const noexcept override { return false; }
  [[nodiscard]] bool refreshes() const noexcept override { return options_.refresh; }

 private:
  /// How many losses of a sample are remembered.
  static constexpr std::size_t Losses = 6;

  void make_selection(std::int64_t epoch, SampleSet& selected, const Workers& workers) override;
  void record(std::span<const SampleId> ids, std::span<const float> losses) override;
  void prefetch(std::span<const SampleId> ids) const override;
  /// Not known in advance.
  [[nodiscard]] std::optional<std::int64_t> plan_batches(std::int64_t,
                                                         std::int64_t) const override {
    return std::nullopt;
  }
  void list_state(StateFields& fields) override { fields.losses("loss_curves", curves_); }
  [[nodiscard]] std::vector<std::string> describe_options() const override {
    return rcap::describe_options(options_);
  }

  IesOptions options_;
  /// The last six losses of each sample, side by side, oldest first; the largest number for those
  /// not known yet.
  std::vector<float> curves_;
};

}  // namespace rcap
RCAP_API_END
