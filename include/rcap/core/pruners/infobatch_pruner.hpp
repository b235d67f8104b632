#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "rcap/core/export.hpp"
#include "rcap/core/pruner.hpp"

RCAP_API_BEGIN
namespace rcap {

struct InfoBatchOptions {
  /// Fraction of the samples below the mean loss that is left out (rho); those kept have weight
  /// 1 / (1 - rho), at most 10. Not the pruning rate: how much of the whole data it removes
  /// depends on the losses.
  double prune_probability = 0.5;
  /// Pruning ends after this part of the run (delta); later epochs use all data.
  double annealing = 0.875;
  std::int64_t epochs = 0;  ///< of the whole run; must be given
  /// Batch size of the run. With it the common `pruning_rate` is met over the whole run
  /// (budget mode): round((1 - rate) * epochs * batches of an epoch) batches in all, at least one;
  /// the epoch in which they end is cut short, and later ones are empty. Without it the method runs
  /// as published and `pruning_rate` has no effect.
  std::optional<std::int64_t> batch_size = std::nullopt;
};

void list_options(OptionFields& fields, InfoBatchOptions& options);

/// InfoBatch: leaves out a random part of the samples below the mean loss and scales
/// the loss of those it keeps.
class InfoBatchPruner final : public Pruner {
 public:
  /// @throws InvalidArgument  on an option out of range; names it
  InfoBatchPruner(std::shared_ptr<const ClassIndex> classes, const CommonOptions& common,
                  const InfoBatchOptions& options);

  [[nodiscard]] bool weighs() const noexcept override { return true; }
  [[nodiscard]] bool follows_rate() const noexcept override { return total_batches_.has_value(); }

 private:
  /// Known in budget mode only, for the epochs and the batch size of the options.
  [[nodiscard]] std::optional<std::int64_t> plan_batches(std::int64_t epochs,
                                                         std::int64_t batch_size) const override;
  void make_selection(std::int64_t epoch, SampleSet& selected, const Workers& workers) override;
  void record(std::span<const SampleId> ids, std::span<const float> losses) override;
  void prefetch(std::span<const SampleId> ids) const override;
  void weigh(std::span<const SampleId> ids, const Workers& workers,
             std::vector<float>& weights) override;
  void list_state(StateFields& fields) override;
  void agree() override { observed_any_ = shard().any(observed_any_); }
  [[nodiscard]] std::vector<std::string> describe_options() const override {
    return rcap::describe_options(options_);
  }

  [[nodiscard]] bool prunes(std::int64_t epoch) const;
  void cut_to_budget(std::int64_t epoch, SampleSet& selected, const Workers& workers);

  InfoBatchOptions options_;
  double kept_part_ = 1;  ///< of the samples below the mean
  std::optional<std::int64_t> total_batches_;
  std::int64_t used_batches_ = 0;
  bool observed_any_ = false;  ///< false until the first loss: all scores are equal then
  std::vector<float> scores_;
  SampleSet rescaled_;  ///< kept samples below the mean of the current selection
};

}  // namespace rcap
RCAP_API_END
