#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "rcap/core/export.hpp"
#include "rcap/core/pruner.hpp"

RCAP_API_BEGIN
namespace rcap {

struct SetaOptions {
  std::int64_t epochs = 0;  ///< of the whole run; must be given
  /// Whether the window holds exactly `keep_count` samples of neighbouring losses. Otherwise it
  /// holds whole groups, as published, and the pruning rate has no effect.
  bool budget = true;
  std::int64_t groups = 10;   ///< G
  double window = 0.5;        ///< the part of the groups in a window, without `budget`
  double random_pruning = 0;  ///< the part of all samples that is left out at random first (rho)
  /// The window slides for this part of the run; later epochs take a random subset of all samples.
  double annealing = 0.875;
};

void list_options(OptionFields& fields, SetaOptions& options);

/// SeTa: groups samples by loss, from easy to hard, and trains on a window of neighbouring groups
/// that moves on by one every epoch and starts again.
class SetaPruner final : public Pruner {
 public:
  /// @throws InvalidArgument  on an option out of range; names it
  SetaPruner(std::shared_ptr<const ClassIndex> classes, const CommonOptions& common,
             const SetaOptions& options);

  [[nodiscard]] bool follows_rate() const noexcept override { return options_.budget; }

 private:
  void make_selection(std::int64_t epoch, SampleSet& selected, const Workers& workers) override;
  void record(std::span<const SampleId> ids, std::span<const float> losses) override;
  void prefetch(std::span<const SampleId> ids) const override;
  /// Known with `budget` only.
  [[nodiscard]] std::optional<std::int64_t> plan_batches(std::int64_t epochs,
                                                         std::int64_t batch_size) const override;
  void list_state(StateFields& fields) override;
  [[nodiscard]] std::vector<std::string> describe_options() const override {
    return rcap::describe_options(options_);
  }

  [[nodiscard]] bool slides(std::int64_t epoch) const;
  /// How many groups a window holds: with `budget`, the part of the candidates that is kept.
  [[nodiscard]] std::int64_t window_groups(std::int64_t candidates) const;
  [[nodiscard]] SampleSet window_of_budget(std::int64_t epoch, const SampleSet& candidates,
                                           const Workers& workers) const;
  [[nodiscard]] SampleSet window_of_groups(std::int64_t epoch, const SampleSet& candidates,
                                           const Workers& workers) const;

  SetaOptions options_;
  bool observed_any_ = false;
  std::vector<float> losses_;
};

}  // namespace rcap
RCAP_API_END
