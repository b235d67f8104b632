#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "rcap/core/export.hpp"
#include "rcap/core/pruner.hpp"

RCAP_API_BEGIN
namespace rcap {

/// How a bandit ranks samples.
enum class BanditRule {
  Ucb,            ///< running mean of the loss plus `confidence` times its variance
  EpsilonGreedy,  ///< running mean; a part `epsilon` of the budget is random
};

/// What the running mean of a sample is before its first loss.
enum class BanditStart {
  FirstLoss,  ///< 0, and the first loss becomes the mean (the default of ucb)
  Zero,       ///< 0
  One,        ///< 1 (the default of epsilon-greedy)
};

struct BanditOptions {
  BanditRule rule = BanditRule::Ucb;
  BanditStart start = BanditStart::FirstLoss;
  double loss_weight = 0.8;      ///< of the newest loss in the running mean (alpha)
  double confidence = 1.0;       ///< kappa of ucb
  double epsilon = 0.1;          ///< random part of epsilon-greedy
  std::int64_t period = 10;      ///< epochs between selections
  bool full_first_epoch = true;  ///< all data until a loss is known; otherwise a random subset

  [[nodiscard]] static BanditOptions ucb() { return {}; }
  [[nodiscard]] static BanditOptions epsilon_greedy() {
    BanditOptions options;
    options.rule = BanditRule::EpsilonGreedy;
    options.start = BanditStart::One;
    return options;
  }
};

/// Lists the options of the rule.
void list_options(OptionFields& fields, BanditOptions& options);

/// UCB and epsilon-greedy: epoch 0 sees all data; at the start of epochs 1, 1 + period,
/// 1 + 2 period, ... the samples of highest score are chosen again. Ignores classes.
class BanditPruner final : public Pruner {
 public:
  /// @throws InvalidArgument  on an option out of range; names it
  BanditPruner(std::shared_ptr<const ClassIndex> classes, const CommonOptions& common,
               const BanditOptions& options);

  /// The current score of each sample, by which it is ranked.
  [[nodiscard]] std::vector<float> scores() const;
  [[nodiscard]] std::span<const float> means() const noexcept { return means_; }
  [[nodiscard]] std::span<const float> variances() const noexcept { return variances_; }

 private:
  [[nodiscard]] std::optional<std::int64_t> plan_batches(std::int64_t epochs,
                                                         std::int64_t batch_size) const override;
  void make_selection(std::int64_t epoch, SampleSet& selected, const Workers& workers) override;
  void record(std::span<const SampleId> ids, std::span<const float> losses) override;
  void prefetch(std::span<const SampleId> ids) const override;
  void list_state(StateFields& fields) override;
  [[nodiscard]] std::vector<std::string> describe_options() const override {
    return rcap::describe_options(options_);
  }

  BanditOptions options_;
  std::int64_t last_round_ = -1;  ///< one selection is made per round of `period` epochs
  std::vector<float> means_;
  std::vector<float> variances_;
  SampleSet seen_;
};

}  // namespace rcap
RCAP_API_END
