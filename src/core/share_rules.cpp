#include "rcap/core/share_rules.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "base/formatted.hpp"
#include "core/keys.hpp"
#include "core/saturate.hpp"
#include "rcap/core/class_budget.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/ids.hpp"

namespace rcap {
namespace {

constexpr double Nothing = -std::numeric_limits<double>::infinity();  // the logarithm of no share

/// The part of an epoch that `Domain` spreads evenly over the classes.
constexpr double EvenPart = 1e-4;

/// The weight of the past in the rewards of `Bandit`.
constexpr double RewardMemory = 0.9;

/// A turn of the bandit is a batch; of this many samples, if not told otherwise.
constexpr std::int64_t UsualBatch = 128;

bool needs_epochs(ShareRule rule) {
  return rule == ShareRule::Progressive || rule == ShareRule::Deferred;
}

void divide_by_sum(std::vector<double>& shares) {
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
}

}  // namespace

std::string_view name_of(ShareRule rule) noexcept {
  constexpr std::array<std::string_view, 7> Names{
      "power", "progressive", "effective-number", "deferred", "group-dro", "domain", "bandit"};
  return Names[static_cast<std::size_t>(rule)];
}

void list_options(OptionFields& fields, ShareOptions& options, const ChosenRule& chosen) {
  // The rules that an option is for; the second may be the first.
  const auto only_for = [&chosen](Option& option, ShareRule one, ShareRule other) {
    const std::string names = one == other
                                  ? formatted("share {}", name_of(one))
                                  : formatted("shares {} and {}", name_of(one), name_of(other));
    option.applies_if([chosen, one, other] { return chosen() == one || chosen() == other; },
                      "is for the class " + names);
  };
  using enum ShareRule;
  only_for(fields.count("epochs", options.epochs, "E",
                        "epochs of the whole run, which class shares that follow its course need",
                        Range::between(1, MostEpochs)),
           Progressive, Deferred);
  only_for(fields.number("size_power", options.size_power, "A",
                         "shares follow the size of a class to this power: 1 in proportion, 0.5 "
                         "square root, 0 equal",
                         Range::between(-2, 2)),
           Power, Power);
  only_for(fields.number("loss_power", options.loss_power, "B",
                         "shares follow the mean loss of a class to this power; 0: not at all",
                         Range::between(0, 10)),
           Power, Power);
  only_for(fields.number("effective_beta", options.effective_beta, "B",
                         "how much samples of a class overlap: 0 gives shares in proportion to "
                         "size, 1 equal ones",
                         Range::between(0, 1)),
           EffectiveNumber, Deferred);
  only_for(
      fields.number("defer_until", options.defer_until, "D",
                    "fraction of the run with shares in proportion to size", Range::between(0, 1)),
      Deferred, Deferred);
  only_for(fields.number("eta", options.eta, "H",
                         "how fast shares follow the losses, per epoch and unit of loss",
                         Range::between(0, 1e6)),
           GroupDro, Domain);
  only_for(fields.number("adjustment", options.adjustment, "C",
                         "added to the loss of a class, divided by the square root of its size",
                         Range::between(0, 1e6)),
           GroupDro, GroupDro);
  only_for(
      fields.numbers("reference_losses", options.reference_losses, "L,L,...",
                     "the loss to be reached by each class, in their order", Range::at_least(0)),
      Domain, Domain);
  only_for(fields.count("turns", options.turns, "T",
                        "turns of the bandit per epoch, which lessen its exploration; by default "
                        "one per 128 samples",
                        Range::between(1, 2'147'483'647)),
           Bandit, Bandit);
}

bool reads_losses(ShareRule rule, const ShareOptions& options) noexcept {
  switch (rule) {
    case ShareRule::Power:
      return options.loss_power > 0;
    case ShareRule::Progressive:
    case ShareRule::EffectiveNumber:
    case ShareRule::Deferred:
      return false;
    case ShareRule::GroupDro:
    case ShareRule::Domain:
    case ShareRule::Bandit:
      break;
  }
  return true;
}

double effective_number(std::int64_t sample_count, double beta) noexcept {
  // By doubling: subtracting beta^n from 1 would lose the digits of small classes.
  const auto count = static_cast<std::uint64_t>(sample_count);
  double number = 0;  // of the first bits of the count
  double power = 1;   // beta to their power
  for (auto bit = static_cast<int>(std::bit_width(count)); bit-- > 0;) {
    number *= 1 + power;
    power *= power;
    if ((count >> bit & 1) == 0) continue;
    number = 1 + beta * number;
    power *= beta;
  }
  return number;
}

WantedShares::WantedShares(ShareRule rule, const ShareOptions& options,
                           std::span<const std::int64_t> class_sizes, std::int64_t keep_count)
    : rule_(rule), options_(options), sizes_(class_sizes.begin(), class_sizes.end()) {
  if (needs_epochs(rule) && !options.epochs) {
    throw InvalidArgument(
        formatted("class_share {}: epochs is missing; it follows the course of the run, so give "
                  "the epochs of the whole run",
                  name_of(rule)));
  }
  if (rule == ShareRule::Domain && options.reference_losses.size() != sizes_.size()) {
    throw InvalidArgument(
        formatted("class_share domain: {} reference_losses for {} classes; give one per class",
                  options.reference_losses.size(), sizes_.size()));
  }
  filled_ = static_cast<double>(std::ranges::count_if(sizes_, [](auto size) { return size > 0; }));
  turns_ = static_cast<double>(options.turns.value_or(batches_of(keep_count, UsualBatch)));
  if (reads_losses()) learnt_.assign(sizes_.size(), rule == ShareRule::Power ? 1.0F : 0.0F);
}

void WantedShares::list_state(StateFields& fields) {
  if (reads_losses()) fields.losses("learnt_shares", learnt_);
}

void WantedShares::learn(std::span<const double> mean_losses, std::int64_t epoch) {
  if (!reads_losses()) return;
  switch (rule_) {
    case ShareRule::GroupDro:
    case ShareRule::Domain:
      return learn_growth(mean_losses);
    case ShareRule::Bandit:
      return learn_rewards(mean_losses, epoch);
    default:
      for (std::size_t j = 0; j < sizes_.size(); ++j) {
        learnt_[j] = has_samples(j) ? saturate(mean_losses[j]) : 0;
      }
  }
}

void WantedShares::learn_growth(std::span<const double> mean_losses) {
  std::vector<double> logs(sizes_.size(), Nothing);
  for (std::size_t j = 0; j < logs.size(); ++j) {
    if (!has_samples(j)) continue;
    const double loss =
        rule_ == ShareRule::Domain
            ? std::max(0.0, mean_losses[j] - options_.reference_losses[j])
            : mean_losses[j] + options_.adjustment / std::sqrt(static_cast<double>(sizes_[j]));
    logs[j] = options_.eta * loss - static_cast<double>(learnt_[j]);
  }
  if (rule_ == ShareRule::Domain) {
    const std::vector<double> shares = softmax(std::move(logs));
    logs.assign(sizes_.size(), Nothing);
    for (std::size_t j = 0; j < logs.size(); ++j) {
      if (has_samples(j)) logs[j] = exact_log((1 - EvenPart) * shares[j] + EvenPart / filled_);
    }
  }
  const double highest = *std::ranges::max_element(logs);
  for (std::size_t j = 0; j < logs.size(); ++j) {
    if (has_samples(j)) learnt_[j] = saturate(highest - logs[j]);
  }
}

void WantedShares::learn_rewards(std::span<const double> mean_losses, std::int64_t epoch) {
  const std::vector<double> shares = at(epoch);
  for (std::size_t j = 0; j < shares.size(); ++j) {
    if (!has_samples(j)) continue;
    const double reward = mean_losses[j] / shares[j];
    const auto past = static_cast<double>(learnt_[j]);
    learnt_[j] = saturate(RewardMemory * past + (1 - RewardMemory) * reward);
  }
}

std::vector<double> WantedShares::at(std::int64_t epoch) const {
  switch (rule_) {
    case ShareRule::Power:
      return by_power();
    case ShareRule::Progressive:
      return by_progress(epoch);
    case ShareRule::EffectiveNumber:
      return by_effective_number();
    case ShareRule::Deferred: {
      constexpr double Rounding = 1e-6;  // 0.07 * 100 is above 7
      const double from = options_.defer_until * static_cast<double>(*options_.epochs);
      return static_cast<double>(epoch) + Rounding < from ? by_size() : by_effective_number();
    }
    case ShareRule::Bandit:
      return by_bandit(epoch);
    case ShareRule::GroupDro:
    case ShareRule::Domain:
      break;
  }
  return by_deficit();
}

std::vector<double> WantedShares::by_power() const {
  // Where no class has any loss, sizes decide alone.
  const bool has_losses = std::ranges::any_of(learnt_, [](float loss) { return loss > 0; });
  std::vector<double> logs(sizes_.size(), Nothing);
  for (std::size_t j = 0; j < logs.size(); ++j) {
    if (!has_samples(j) || (has_losses && learnt_[j] == 0)) continue;
    logs[j] = options_.size_power * exact_log(static_cast<double>(sizes_[j]));
    if (has_losses) logs[j] += options_.loss_power * exact_log(static_cast<double>(learnt_[j]));
  }
  return softmax(std::move(logs));
}

std::vector<double> WantedShares::by_size() const {
  std::vector<double> shares(sizes_.begin(), sizes_.end());
  divide_by_sum(shares);
  return shares;
}

std::vector<double> WantedShares::by_effective_number() const {
  std::vector<double> shares(sizes_.size());
  for (std::size_t j = 0; j < shares.size(); ++j) {
    if (!has_samples(j)) continue;
    shares[j] =
        static_cast<double>(sizes_[j]) / effective_number(sizes_[j], options_.effective_beta);
  }
  divide_by_sum(shares);
  return shares;
}

std::vector<double> WantedShares::by_progress(std::int64_t epoch) const {
  const double part =
      std::min(1.0, static_cast<double>(epoch) / static_cast<double>(*options_.epochs));
  std::vector<double> shares = by_size();
  for (std::size_t j = 0; j < shares.size(); ++j) {
    if (has_samples(j)) shares[j] = (1 - part) * shares[j] + part / filled_;
  }
  return shares;
}

std::vector<double> WantedShares::by_deficit() const {
  std::vector<double> logs(learnt_.begin(), learnt_.end());
  for (double& log : logs) log = -log;
  return softmax(std::move(logs));
}

double WantedShares::exploration(double turn) const {
  if (turn < 1) return 1 / filled_;
  return std::min(1 / filled_, std::sqrt(exact_log(filled_) / (filled_ * turn)));
}

std::vector<double> WantedShares::by_bandit(std::int64_t epoch) const {
  const double turn = 1 + static_cast<double>(std::max<std::int64_t>(0, epoch)) * turns_;
  const double least = exploration(turn);
  std::vector<double> scores(learnt_.begin(), learnt_.end());
  for (double& score : scores) score *= exploration(turn - 1);
  std::vector<double> shares = softmax(std::move(scores));
  const double rest = std::max(0.0, 1 - filled_ * least);
  for (std::size_t j = 0; j < shares.size(); ++j) {
    if (has_samples(j)) shares[j] = rest * shares[j] + least;
  }
  return shares;
}

std::vector<double> WantedShares::softmax(std::vector<double> scores) const {
  for (std::size_t j = 0; j < scores.size(); ++j) {
    if (!has_samples(j)) scores[j] = Nothing;
  }
  const double highest = *std::ranges::max_element(scores);
  for (double& score : scores) score = exact_exp(score - highest);
  divide_by_sum(scores);
  return scores;
}

}  // namespace rcap
