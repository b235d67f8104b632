#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "rcap/core/export.hpp"
#include "rcap/core/loss_memory.hpp"
#include "rcap/core/pruner.hpp"
#include "rcap/core/robust_share.hpp"
#include "rcap/core/share_rules.hpp"
#include "rcap/core/weighted_draw.hpp"

RCAP_API_BEGIN
namespace rcap {

/// How RCAP splits its budget over the classes; `docs/algorithm.md` compares the rules.
/// p_j is the class's part of the data set, S_j its samples selected last (before
/// the first epoch: all of them), phi the remembered losses.
enum class ClassShare {
  /// sqrt(size of S_j * what the mean loss of the class would be on new data); samples have weights
  Robust,
  Paper,  ///< sqrt(p_j * sum of phi over S_j): the printed formula
  Mass,   ///< sqrt(p_j * softmax mass of S_j): the rule of the authors' code
  Group,  ///< sqrt(sum of phi over S_j): the formula with equal weight for every class
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
[[nodiscard]] constexpr std::optional<ShareRule> rule_of(ClassShare share) noexcept {
  return rule_of(share, ClassShare::Power);
}

/// Where the remembered losses come from before anything is trained.
enum class InitialLoss {
  /// By the rule: `Paper`, `Mass` and `Group` need the losses of all samples, as in the paper. The
  /// others use what is observed before the first `select`, or else start from the first epoch.
  Auto,
  Forward,  ///< a pass over all samples, observed before the first `select`
  LogC,     ///< ln(number of classes) for every sample: no pass
  /// No pass either: the first epoch draws evenly, and a sample that is not in it gets the mean
  /// loss
  /// of its class there.
  FirstEpoch,
};

/// Where remembered losses are clipped.
enum class LossClip {
  /// `ClassMax` if the first losses come from the network; `None` if all samples start with the
  /// same
  /// number, which says nothing about how large a loss can be.
  Auto,
  ClassMax,  ///< at the largest first loss of the sample's class
  LogC,      ///< at ln(number of classes)
  None,
};

struct RcapOptions {
  /// Temperature of the draw inside a class, 0.001 to 1000; empty: such that the draw is worth half
  /// of a class, whatever the scale of the losses (`balanced_beta`).
  std::optional<double> beta = 1.0;
  ClassShare class_share = ClassShare::Robust;
  /// A number, above 0: all samples start with it, and no pass is made.
  ChoiceOrNumber<InitialLoss> initial_loss = InitialLoss::Auto;
  /// A number, above 0: losses are cut there, whatever their class.
  ChoiceOrNumber<LossClip> clip = LossClip::Auto;
  std::int64_t min_per_class = 1;  ///< kept of each class while the budget allows
  RobustOptions robust = {};       ///< of `ClassShare::Robust`; `lift` of `ShareRule`, too
  ShareOptions share = {};         ///< of the class shares of `ShareRule`
};

void list_options(OptionFields& fields, RcapOptions& options);

/// Whether every sample's loss must be known before training.
[[nodiscard]] constexpr bool needs_initial_losses(const RcapOptions& options) noexcept {
  const bool can_do_without =
      options.class_share == ClassShare::Robust || rule_of(options.class_share);
  return options.initial_loss == InitialLoss::Forward ||
         (options.initial_loss == InitialLoss::Auto && !can_do_without);
}

/// RCAP: a closed form splits the budget over the classes by their losses, then
/// samples are drawn inside each class from softmax(phi / beta) without replacement.
class RcapPruner final : public Pruner {
 public:
  /// @throws InvalidArgument  on an option out of range; names it
  RcapPruner(std::shared_ptr<const ClassIndex> classes, const CommonOptions& common,
             const RcapOptions& options);

  [[nodiscard]] bool needs_initial_losses() const noexcept override {
    return rcap::needs_initial_losses(options_);
  }
  [[nodiscard]] bool takes_initial_losses() const noexcept override {
    return options_.initial_loss == InitialLoss::Auto || needs_initial_losses();
  }

  [[nodiscard]] bool weighs() const noexcept override { return is_robust() || wanted_; }
  [[nodiscard]] bool judges_classes() const noexcept override {
    return is_robust() || (wanted_ && wanted_->reads_losses());
  }

  /// The class error of the paper (E_j), by the rule of `class_share`; for `Robust`, the number of
  /// selected samples of a class times its error on new data; for those of `ShareRule`, the mean
  /// loss of the class, corrected for the draw. A class without selected samples is judged by its
  /// remembered losses: as if it had kept its proportional share, at least one sample, at the mean
  /// loss of the class.
  [[nodiscard]] std::vector<double> class_errors(const Workers& workers = 1) const;
  /// How many samples of each class the next epoch takes: tokens, if they have lengths.
  [[nodiscard]] std::vector<std::int64_t> class_counts() const;
  [[nodiscard]] const LossMemory& memory() const noexcept { return memory_; }

 private:
  void make_selection(std::int64_t epoch, SampleSet& selected, const Workers& workers) override;
  void record(std::span<const SampleId> ids, std::span<const float> losses) override;
  void record_late(std::span<const SampleId> ids, std::span<const float> losses) override;
  void prefetch(std::span<const SampleId> ids) const override { memory_.prefetch(ids); }
  void record_classes(std::span<const double> errors) override;
  void weigh(std::span<const SampleId> ids, const Workers& workers,
             std::vector<float>& weights) override;
  [[nodiscard]] std::vector<double> class_weights(const Selection& selection,
                                                  const Workers& workers) override;
  void list_state(StateFields& fields) override;
  void agree() override { memory_.share_limits(); }
  [[nodiscard]] std::vector<std::string> describe_options() const override {
    return rcap::describe_options(options_);
  }

  /// The most that a selection can take of each class, in tokens.
  [[nodiscard]] std::vector<std::int64_t> available() const;
  /// Draws what `counts_` asks for, and counts what came.
  void draw(const LossWeights& losses, std::int64_t epoch, SampleSet& selected,
            const Workers& workers);
  /// Whether a selection may have another number of samples than `keep_count`.
  [[nodiscard]] bool draws_tokens() const noexcept { return classes().has_lengths() || rounds_; }
  /// How many samples have a chance; they are those of the selection.
  [[nodiscard]] std::size_t chance_count() const;
  [[nodiscard]] bool is_robust() const noexcept {
    return options_.class_share == ClassShare::Robust;
  }
  [[nodiscard]] double beta() const;
  [[nodiscard]] std::vector<double> errors_over(const SampleSet& samples,
                                                const Workers& workers) const;
  void judge_starved_classes(std::vector<double>& errors, const Workers& workers) const;
  /// The errors of the classes for rules that correct for the draw (`weighs`).
  /// @param counts  how many tokens of each class these are the losses of
  [[nodiscard]] std::vector<double> corrected_errors(std::vector<ClassLoss> losses,
                                                     std::span<const std::int64_t> counts,
                                                     const Workers& workers) const;
  [[nodiscard]] std::vector<ClassLoss> losses_of_all(const Workers& workers) const;
  /// What a class would have kept if all kept the same fraction, at least one sample.
  [[nodiscard]] double proportional_share(std::size_t class_id) const;
  /// The loss that all samples start with, if no pass is made.
  [[nodiscard]] std::optional<float> given_first_loss() const;
  /// Where losses of all classes are cut; empty if each class has its own limit.
  [[nodiscard]] std::optional<float> given_clip() const;
  /// Whether it may have to do without losses before the first epoch.
  [[nodiscard]] bool can_start_later() const noexcept {
    return options_.initial_loss == InitialLoss::FirstEpoch ||
           (options_.initial_loss == InitialLoss::Auto && !needs_initial_losses());
  }
  /// Whether it still waits for the first losses.
  [[nodiscard]] bool waits_for_losses() const noexcept {
    return can_start_later() && !has_started_;
  }
  /// Notes that losses of these samples came after the first selection.
  void note_known(std::span<const SampleId> ids);
  /// Uses the losses of these samples as the first ones, if it waits for them.
  void start(const SampleSet& seen, const Workers& workers);
  /// Clips what was observed of `samples`; returns the class errors.
  [[nodiscard]] std::vector<double> clip_and_judge(const SampleSet& samples,
                                                   const Workers& workers);
  /// Whether class errors come from losses, not from what all samples start with.
  [[nodiscard]] bool knows_class_errors() const;
  /// The weights of the classes in the split of `epoch`, by what is learnt so far.
  [[nodiscard]] std::vector<double> share_weights(std::span<const double> errors,
                                                  std::int64_t epoch) const;

  RcapOptions options_;
  std::optional<WantedShares> wanted_;  ///< of a class share of `ShareRule`
  LossMemory memory_;
  std::optional<Rounds> rounds_;      ///< of windows
  std::optional<Rounds::Turn> turn_;  ///< of a draw whose chances have not been found yet
  DrawScratch scratch_;
  // For rules with weights.
  std::vector<InverseChance> inverse_chances_;  ///< of the selected samples, ascending by id
  std::vector<float> lifts_, exponents_;        ///< of the classes, see `weigh_samples`
  std::vector<float> told_errors_;              ///< of the classes, from `observe_classes`
  bool has_told_errors_ = false;
  bool has_started_ = false;  ///< first losses are known, if it can start later
  SampleSet known_;           ///< observed since the first selection, while it waits for losses
  std::vector<std::int64_t> counts_;  ///< tokens of the classes in the last selection
  std::optional<double> drawn_with_;  ///< beta of a draw whose chances have not been found yet
};

}  // namespace rcap
RCAP_API_END
