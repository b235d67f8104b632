#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "rcap/core/export.hpp"
#include "rcap/core/loss_memory.hpp"
#include "rcap/core/pruner.hpp"
#include "rcap/core/share_rules.hpp"

RCAP_API_BEGIN
namespace rcap {

/// How `balanced` splits its budget over the classes.
enum class BalancedShare {
  Equal,
  // Those of `ShareRule`, in their order.
  Power,
  Progressive,
  EffectiveNumber,
  Deferred,
  GroupDro,
  Domain,
  Bandit,
};

/// The rule of a class share that is one of `ShareRule`.
[[nodiscard]] constexpr std::optional<ShareRule> rule_of(BalancedShare share) noexcept {
  return rule_of(share, BalancedShare::Power);
}

struct BalancedOptions {
  BalancedShare class_share = BalancedShare::Equal;
  /// The most that a sample may count if its class is taken whole and should have more; not for
  /// `Equal`, whose samples have no weights.
  double lift = 10;
  ShareOptions share = {};  ///< of the class shares of `ShareRule`
};

void list_options(OptionFields& fields, BalancedOptions& options);

/// Whether its selections follow the losses it observes.
[[nodiscard]] bool learns(const BalancedOptions& options) noexcept;

/// A share of the budget for each class (small classes whole, the rest split again), uniform
/// inside a class. With equal shares it shows how much of a result is due to class balance alone;
/// with the others, what a rule for classes is worth without a rule for samples.
class BalancedPruner final : public Pruner {
 public:
  /// @throws InvalidArgument  on an option out of range or missing; names it
  BalancedPruner(std::shared_ptr<const ClassIndex> classes, const CommonOptions& common,
                 const BalancedOptions& options = {});

  [[nodiscard]] bool learns() const noexcept override { return memory_.has_value(); }
  [[nodiscard]] bool weighs() const noexcept override { return wanted_.has_value(); }
  [[nodiscard]] bool judges_classes() const noexcept override { return learns(); }

 private:
  void make_selection(std::int64_t epoch, SampleSet& selected, const Workers& workers) override;
  void record(std::span<const SampleId> ids, std::span<const float> losses) override;
  void prefetch(std::span<const SampleId> ids) const override {
    if (memory_) memory_->prefetch(ids);
  }
  void record_classes(std::span<const double> errors) override;
  void weigh(std::span<const SampleId> ids, const Workers& workers,
             std::vector<float>& weights) override;
  [[nodiscard]] std::vector<double> class_weights(const Selection& selection,
                                                  const Workers& workers) override;
  void list_state(StateFields& fields) override;
  /// None with equal shares: so that states which know of no others stay valid.
  [[nodiscard]] std::vector<std::string> describe_options() const override;

  /// Draws what `counts_` asks for, and counts what came.
  void draw(std::int64_t epoch, SampleSet& selected, const Workers& workers);
  /// Tells the rule what the classes lost in the last epoch, if that is known.
  void learn(const SampleSet& selected, const Workers& workers);
  [[nodiscard]] std::vector<double> class_means(const SampleSet& samples,
                                                const Workers& workers) const;

  BalancedOptions options_;
  std::optional<WantedShares> wanted_;  ///< not for equal shares
  std::optional<Rounds> rounds_;        ///< of windows
  std::vector<std::int64_t> counts_;    ///< tokens of the classes in the last selection
  std::vector<float> lifts_;            ///< of the classes, if there are weights
  // If it learns.
  std::optional<LossMemory> memory_;
  SampleSet known_;                 ///< observed until the memory starts
  bool has_started_ = false;        ///< every sample has a loss: its own, or the mean of its class
  std::vector<float> told_errors_;  ///< of the classes, from `observe_classes`
  bool has_told_errors_ = false;
};

}  // namespace rcap
RCAP_API_END
