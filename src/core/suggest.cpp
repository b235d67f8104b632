#include "core/suggest.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/formatted.hpp"
#include "base/number_text.hpp"
#include "core/keys.hpp"
#include "core/study_rows.hpp"

namespace rcap {
namespace {

using Limits = SuggestLimits;

constexpr std::string_view SuggestedRule = "rcap";

Reason computed(std::string source, std::string text) {
  return {Basis::Computed, std::move(source), std::move(text)};
}

Reason measured(std::string_view folder, std::string text) {
  return {Basis::Study, std::string(folder), std::move(text)};
}

const RuleOutcome& outcome_of(const RateAdvice& rate) {
  return *std::ranges::find(rate.rules, SuggestedRule, &RuleOutcome::rule);
}

// ---- what the studies saw on such data ----------------------------------------------------

/// 0, 1 or 2: nearly balanced, uneven, very uneven.
int band_of(double imbalance) {
  return (imbalance >= Limits::Uneven ? 1 : 0) + (imbalance >= Limits::VeryUneven ? 1 : 0);
}

/// The rows that speak for data of this imbalance at a rate: of each data set the lowest rate that
/// is not below it. None where no study prunes as much.
std::vector<StudyRow> rows_for(double imbalance, double pruning_rate) {
  std::vector<StudyRow> rows;
  for (const StudyRow& row : study_rows()) {
    if (band_of(row.imbalance) != band_of(imbalance) || row.pruning_rate < pruning_rate) continue;
    const bool known = !rows.empty() && rows.back().dataset == row.dataset;
    if (!known) rows.push_back(row);
  }
  return rows;
}

/// The points that the rule lost against training on everything: the most over data sets, and over
/// worst and average class.
double points_lost(double imbalance, double pruning_rate) {
  const std::vector<StudyRow> rows = rows_for(imbalance, pruning_rate);
  if (rows.empty()) return std::numeric_limits<double>::infinity();
  double lost = 0;
  for (const StudyRow& row : rows) {
    lost = std::max({lost, row.full.worst - row.rcap.worst, row.full.average - row.rcap.average});
  }
  return lost;
}

Reason evidence_of(const StudyRow& row) {
  const auto side = [](std::string_view name, double MeasuredAccuracy::*value, const StudyRow& of) {
    return formatted("{} class {} % (full training {}, balanced {}, rs2 {})", name,
                     with_decimals(of.rcap.*value, 1), with_decimals(of.full.*value, 1),
                     with_decimals(of.balanced.*value, 1), with_decimals(of.rs2.*value, 1));
  };
  return measured(row.folder, formatted("{:?} (imbalance {}) at {}: {}, {}.", row.dataset,
                                        as_factor(row.imbalance), as_percent(row.pruning_rate),
                                        side("worst", &MeasuredAccuracy::worst, row),
                                        side("average", &MeasuredAccuracy::average, row)));
}

// ---- which rates can be taken -------------------------------------------------------------

/// The first class that would keep less than a handful though it has more.
std::optional<std::size_t> starved_class(const Advice& advice, const RateAdvice& rate) {
  const std::vector<std::int64_t>& counts = outcome_of(rate).class_counts;
  for (std::size_t j = 0; j < counts.size(); ++j) {
    if (counts[j] < std::min(Limits::Handful, advice.class_sizes[j])) return j;
  }
  return std::nullopt;
}

/// Why a rate cannot be taken, by labels and epochs alone; nothing where it can.
std::optional<Reason> refusal(const Advice& advice, const RateAdvice& rate) {
  if (const auto starved = starved_class(advice, rate)) {
    return computed(
        "labels",
        formatted("At {} class {} would keep {} of its {} samples in the first epoch, "
                  "fewer than {}.",
                  as_percent(rate.pruning_rate), *starved, outcome_of(rate).class_counts[*starved],
                  with_commas(advice.class_sizes[*starved]), +Limits::Handful));
  }
  const double visits = static_cast<double>(advice.options.epochs) *
                        static_cast<double>(rate.keep_count) /
                        static_cast<double>(advice.sample_count);
  if (visits >= Limits::LeastVisits) return std::nullopt;
  return computed("arithmetic", formatted("At {} a sample is seen {} times in {} epochs on "
                                          "average: part of the data would never be seen.",
                                          as_percent(rate.pruning_rate), with_digits(visits, 2),
                                          advice.options.epochs));
}

/// Why a rate that could be taken was not.
Reason study_against(const Advice& advice, const RateAdvice& rate) {
  const std::vector<StudyRow> rows = rows_for(advice.imbalance, rate.pruning_rate);
  if (rows.empty()) {
    return measured("docs/results", formatted("No study prunes {} or more of similar data.",
                                              as_percent(rate.pruning_rate)));
  }
  const auto lost_by = [](const StudyRow& row) {
    return std::max(row.full.worst - row.rcap.worst, row.full.average - row.rcap.average);
  };
  const StudyRow& row = *std::ranges::max_element(rows, {}, lost_by);
  return measured(
      row.folder,
      formatted("Not {}: at {} on {:?} the worst class had {} % (full training {}), the "
                "average class {} % ({}).",
                as_percent(rate.pruning_rate), as_percent(row.pruning_rate), row.dataset,
                with_decimals(row.rcap.worst, 1), with_decimals(row.full.worst, 1),
                with_decimals(row.rcap.average, 1), with_decimals(row.full.average, 1)));
}

/// The rate to take among those that can be: the highest at which nothing was lost, else the
/// highest at which little was, else the lowest.
const RateAdvice& choose_rate(const Advice& advice, std::span<const RateAdvice* const> rates) {
  for (const double limit : {Limits::NoLoss, Limits::SmallLoss}) {
    for (auto rate = rates.rbegin(); rate != rates.rend(); ++rate) {
      if (points_lost(advice.imbalance, (*rate)->pruning_rate) <= limit) return **rate;
    }
  }
  return *rates.front();
}

// ---- the sentences ------------------------------------------------------------------------

std::optional<Reason> why_too_small(const Advice& advice) {
  if (advice.filled_class_count == 1) {
    return computed("labels",
                    "There is one class: every rule keeps the same number of samples, since the "
                    "rules differ in how they split between classes.");
  }
  if (advice.sample_count >= Limits::FewSamples) return std::nullopt;
  return computed("labels",
                  formatted("{} samples are few: an epoch is short anyway. The smallest data set "
                            "in the studies has {}.",
                            with_commas(advice.sample_count), with_commas(FewestStudySamples)));
}

Reason why_too_slow(const Advice& advice, const RateAdvice& rate) {
  const RuleOutcome& outcome = outcome_of(rate);
  const std::string gain = with_decimals(outcome.speed_up, 2);
  if (outcome.work.evaluation > outcome.work.training) {
    return computed("arithmetic",
                    formatted("At {} a run does {} times less work, because evaluations cost more "
                              "than training: evaluate less often, or on fewer samples.",
                              as_percent(rate.pruning_rate), gain));
  }
  return computed("arithmetic",
                  formatted("At {} an epoch keeps {} of {} samples, which is {} times less work.",
                            as_percent(rate.pruning_rate), with_commas(rate.keep_count),
                            with_commas(advice.sample_count), gain));
}

std::int64_t kept_of(const RateAdvice& rate, std::string_view rule, ClassId class_id) {
  const RuleOutcome& outcome = *std::ranges::find(rate.rules, rule, &RuleOutcome::rule);
  return outcome.class_counts[static_cast<std::size_t>(class_id)];
}

Reason why_this_rule(const Advice& advice, const RateAdvice& rate) {
  const std::string imbalance = as_factor(advice.imbalance);
  if (band_of(advice.imbalance) == 0) {
    return computed("labels", formatted("The largest class is {} times the smallest: nearly "
                                        "balanced, so pruning saves work but improves no class.",
                                        imbalance));
  }
  const ClassId smallest = advice.smallest_class;
  return computed(
      "labels",
      formatted("The largest class is {} times the smallest, class {}: of its {} samples the first "
                "epoch keeps {} at random (rs2) and {} by {}.",
                imbalance, smallest,
                with_commas(advice.class_sizes[static_cast<std::size_t>(smallest)]),
                with_commas(kept_of(rate, "rs2", smallest)),
                with_commas(kept_of(rate, SuggestedRule, smallest)), SuggestedRule));
}

/// Where another rate gives up some of the saving for a better average.
std::optional<Reason> milder_rate(const Advice& advice, const RateAdvice& chosen) {
  constexpr double WorthTelling = 1;
  const auto rows = rows_for(advice.imbalance, chosen.pruning_rate);
  for (auto rate = advice.rates.rbegin(); rate != advice.rates.rend(); ++rate) {
    if (rate->pruning_rate >= chosen.pruning_rate) continue;
    for (const StudyRow& row : rows_for(advice.imbalance, rate->pruning_rate)) {
      const auto same = std::ranges::find(rows, row.dataset, &StudyRow::dataset);
      if (same == rows.end() || row.rcap.average < same->rcap.average + WorthTelling) continue;
      return measured(
          row.folder,
          formatted("{} costs more but had the better average class: {} % instead of {} "
                    "% on {:?}.",
                    as_percent(rate->pruning_rate), with_decimals(row.rcap.average, 1),
                    with_decimals(same->rcap.average, 1), row.dataset));
    }
  }
  return std::nullopt;
}

std::optional<Reason> beyond_the_studies(const Advice& advice) {
  const bool known = advice.sample_count >= FewestStudySamples &&
                     advice.sample_count <= MostStudySamples &&
                     advice.filled_class_count >= FewestStudyClasses &&
                     advice.filled_class_count <= MostStudyClasses;
  if (known) return std::nullopt;
  return measured(
      "docs/results",
      formatted("The studies cover {} to {} samples in {} to {} classes, with small networks. Your "
                "data set has {} in {}: compare on your own data with rcap study.",
                with_commas(FewestStudySamples), with_commas(MostStudySamples), +FewestStudyClasses,
                +MostStudyClasses, with_commas(advice.sample_count),
                with_commas(advice.filled_class_count)));
}

Reason about_the_scale() {
  return measured("docs/results/scale",
                  "With losses ten times as large, the worst class had 56.5 % at beta 1 and 60.2 % "
                  "at beta auto.");
}

Reason about_wrong_labels() {
  return measured("docs/results/noise",
                  "With 10 % wrong labels, balanced had the better average class (77.7 against "
                  "75.2 %) and rcap the better worst class (36.2 against 19.1 %).");
}

std::optional<Reason> scale_of_losses(const Advice& advice) {
  if (!advice.losses) return std::nullopt;
  const double guess = exact_log(static_cast<double>(advice.filled_class_count));
  if (advice.losses->mean <= Limits::LargeLosses * guess) return std::nullopt;
  return computed("losses",
                  formatted("The mean loss {} is more than {} times ln({}), the loss of a random "
                            "guess: let the temperature follow the losses (beta auto).",
                            with_digits(advice.losses->mean, 3), +Limits::LargeLosses,
                            advice.filled_class_count));
}

void add(std::vector<Reason>& reasons, std::optional<Reason> reason) {
  if (reason) reasons.push_back(std::move(*reason));
}

Suggestion train_on_everything(std::vector<Reason> reasons) {
  return {.verdict = Verdict::Hardly, .reasons = std::move(reasons)};
}

/// The reasons for a rule and rate that were chosen.
std::vector<Reason> reasons_for(const Advice& advice, const RateAdvice& chosen) {
  std::vector<Reason> reasons{why_this_rule(advice, chosen)};
  for (const StudyRow& row : rows_for(advice.imbalance, chosen.pruning_rate)) {
    reasons.push_back(evidence_of(row));
  }
  for (const RateAdvice& rate : advice.rates) {
    if (rate.pruning_rate <= chosen.pruning_rate) continue;
    const auto refused = refusal(advice, rate);
    reasons.push_back(refused ? *refused : study_against(advice, rate));
  }
  add(reasons, milder_rate(advice, chosen));
  if (auto reason = scale_of_losses(advice)) {
    reasons.push_back(std::move(*reason));
    reasons.push_back(about_the_scale());
  }
  reasons.push_back(about_wrong_labels());
  add(reasons, beyond_the_studies(advice));
  return reasons;
}

}  // namespace

Suggestion suggest(const Advice& advice) {
  if (auto reason = why_too_small(advice)) return train_on_everything({std::move(*reason)});
  std::vector<const RateAdvice*> usable;
  std::vector<Reason> refusals;
  for (const RateAdvice& rate : advice.rates) {
    auto refused = refusal(advice, rate);
    if (!refused) usable.push_back(&rate);
    add(refusals, std::move(refused));
  }
  if (usable.empty()) return train_on_everything(std::move(refusals));
  const RateAdvice& chosen = choose_rate(advice, usable);
  const RuleOutcome& outcome = outcome_of(chosen);
  if (outcome.speed_up < Limits::LeastSpeedUp) {
    return train_on_everything({why_too_slow(advice, chosen)});
  }
  const double lost = points_lost(advice.imbalance, chosen.pruning_rate);
  return {.verdict = lost <= Limits::NoLoss ? Verdict::Likely : Verdict::AtAPrice,
          .rule = std::string(SuggestedRule),
          .pruning_rate = chosen.pruning_rate,
          .speed_up = outcome.speed_up,
          .points_lost = std::isfinite(lost) ? std::optional(lost) : std::nullopt,
          .auto_beta = scale_of_losses(advice).has_value(),
          .reasons = reasons_for(advice, chosen)};
}

}  // namespace rcap
