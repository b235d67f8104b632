#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "rcap/core/export.hpp"
#include "rcap/core/options.hpp"
#include "rcap/core/state_file.hpp"

RCAP_API_BEGIN
namespace rcap {

/// Class shares from the literature, for methods that split their budget over the classes.
///
/// A rule says which part of an epoch each class should be. `split_budget` turns that into counts,
/// with no class above its size; where a class is taken whole and should be more, its samples weigh
/// more (`lifts_of`). `docs/algorithm.md` has the equations; n_j is the size of a class, c the
/// number of classes that have samples, L_j the mean loss of a class.

enum class ShareRule {
  Power,            ///< n_j^a L_j^b; by default the square root of the size
  Progressive,      ///< from n_j / n to 1 / c in the course of the run
  EffectiveNumber,  ///< n_j over the effective number of its samples
  Deferred,         ///< n_j / n at first, late in the run as `EffectiveNumber`
  GroupDro,         ///< grows by the factor exp(eta L_j) each epoch
  Domain,           ///< the same, by how far L_j exceeds a reference
  Bandit,           ///< softmax of past losses, plus exploration that becomes less
};

/// "group-dro".
[[nodiscard]] std::string_view name_of(ShareRule rule) noexcept;

struct ShareOptions {
  double size_power = 0.5;                    ///< of `Power`: a
  double loss_power = 0;                      ///< of `Power`: b
  double effective_beta = 0.9999;             ///< of `EffectiveNumber` and `Deferred`
  double defer_until = 0.8;                   ///< of `Deferred`: part of the run
  double eta = 0.3;                           ///< of `GroupDro` and `Domain`, per epoch
  double adjustment = 0;                      ///< of `GroupDro`: C of L_j + C / sqrt(n_j)
  std::vector<double> reference_losses = {};  ///< of `Domain`: one per class, must be given
  std::optional<std::int64_t> turns = {};   ///< of `Bandit`, per epoch; empty: one per 128 samples
  std::optional<std::int64_t> epochs = {};  ///< of `Progressive` and `Deferred`: must be given
};

/// The rule that a struct of options has chosen; empty if it is none of these.
using ChosenRule = std::function<std::optional<ShareRule>()>;

/// @param chosen  decides which of the options apply
void list_options(OptionFields& fields, ShareOptions& options, const ChosenRule& chosen);

/// The rule of a choice whose enumerators from `first` on are those of `ShareRule`.
template <class Choice>
[[nodiscard]] constexpr std::optional<ShareRule> rule_of(Choice choice, Choice first) noexcept {
  if (choice < first) return std::nullopt;
  return static_cast<ShareRule>(static_cast<int>(choice) - static_cast<int>(first));
}

/// Whether the shares of a rule depend on the losses.
[[nodiscard]] bool reads_losses(ShareRule rule, const ShareOptions& options) noexcept;

/// The samples that n samples are worth if each new one overlaps with those before it (Cui et al.,
/// 2019): (1 - beta^n) / (1 - beta), which is n for a beta of 1.
[[nodiscard]] double effective_number(std::int64_t sample_count, double beta) noexcept;

/// Which part of an epoch each class should be, by one rule; remembers what the rule learns from
/// epoch to epoch, in single precision, one number per class.
class WantedShares {
 public:
  /// @param keep_count  samples per epoch
  /// @throws InvalidArgument  the rule needs the epochs of the run, or reference losses for as many
  ///                          classes as there are
  WantedShares(ShareRule rule, const ShareOptions& options,
               std::span<const std::int64_t> class_sizes, std::int64_t keep_count);

  [[nodiscard]] bool reads_losses() const noexcept { return rcap::reads_losses(rule_, options_); }

  /// Learns from the mean losses of the classes in `epoch`, or before the first one if that is -1.
  /// To be called once for each epoch of which they are known.
  /// @param mean_losses  finite and >= 0; those of classes without samples do not count
  void learn(std::span<const double> mean_losses, std::int64_t epoch);

  /// The shares of `epoch`: >= 0, with a sum of 1; 0 for classes without samples.
  /// An epoch past the end of the run is like its end.
  [[nodiscard]] std::vector<double> at(std::int64_t epoch) const;

  void list_state(StateFields& fields);

 private:
  [[nodiscard]] std::vector<double> by_power() const;
  [[nodiscard]] std::vector<double> by_size() const;
  [[nodiscard]] std::vector<double> by_effective_number() const;
  [[nodiscard]] std::vector<double> by_progress(std::int64_t epoch) const;
  [[nodiscard]] std::vector<double> by_deficit() const;
  [[nodiscard]] std::vector<double> by_bandit(std::int64_t epoch) const;

  void learn_growth(std::span<const double> mean_losses);
  void learn_rewards(std::span<const double> mean_losses, std::int64_t epoch);

  [[nodiscard]] bool has_samples(std::size_t class_id) const { return sizes_[class_id] > 0; }
  /// exp(score) of the classes that have samples, divided by the sum.
  [[nodiscard]] std::vector<double> softmax(std::vector<double> scores) const;
  /// The exploration of a bandit in its turn t: the least share of a class.
  [[nodiscard]] double exploration(double turn) const;

  ShareRule rule_;
  ShareOptions options_;
  std::vector<std::int64_t> sizes_;
  double filled_ = 0;  ///< classes that have samples
  double turns_ = 0;   ///< of a bandit, per epoch
  /// What the rule remembers of each class: of `Power` the last mean loss, of `GroupDro` and
  /// `Domain` how far ln(share) lies below the largest, of `Bandit` the reward; else empty.
  std::vector<float> learnt_;
};

}  // namespace rcap
RCAP_API_END
