#pragma once

#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "rcap/core/make_pruner.hpp"
#include "rcap/core/random_stream.hpp"

namespace rcap {

/// A data set with a single class.
inline std::shared_ptr<const ClassIndex> all_of_one_class(std::size_t sample_count) {
  return std::make_shared<const ClassIndex>(std::vector<int>(sample_count, 0));
}

/// A small long-tailed data set: class j has about half of class j - 1.
inline std::shared_ptr<const ClassIndex> small_data_set(SampleId sample_count = 2000) {
  const RandomStream random(123, Purpose::Synthetic, 0);
  std::vector<int> labels;
  for (SampleId id = 0; id < sample_count; ++id) {
    labels.push_back(std::min(5, static_cast<int>(-std::log2(random.uniform(id)))));
  }
  return std::make_shared<const ClassIndex>(labels, 6);
}

/// Options under which every method runs on `classes`.
inline PrunerOptions options_for(const ClassIndex& classes) {
  const RandomStream random(124, Purpose::Synthetic, 0);
  PrunerOptions options;
  options.common.pruning_rate = 0.7;
  options.common.seed = 27;
  options.infobatch.epochs = 20;
  options.seta.epochs = 20;
  options.kakurenbo.epochs = 20;
  options.dropout.epochs = 20;
  options.ies.threshold = 0.5;
  for (ShareOptions* share : {&options.rcap.share, &options.balanced.share}) {
    share->epochs = 8;
    share->loss_power = 0.5;
    share->turns = 12;
    for (ClassId j = 0; j < classes.class_count(); ++j) {
      share->reference_losses.push_back(0.2 * (j + 1));
    }
  }
  options.ucb.period = 3;
  options.epsilon_greedy.period = 3;
  for (SampleId id = 0; id < classes.sample_count(); ++id) {
    options.scores.push_back(static_cast<float>(random.uniform(id)));
    options.mean_probabilities.push_back(
        static_cast<float>(random.uniform(classes.sample_count() + id)));
  }
  for (ClassId j = 0; j < classes.class_count(); ++j) options.recalls.push_back(0.9 - 0.1 * j);
  return options;
}

/// A name that describes one way to set up a method.
struct Variant {
  std::string name;
  std::string method;
  void (*adjust)(PrunerOptions&) = [](PrunerOptions&) {};
};

/// Every class share of `ShareRule`, with and without the draw by losses.
inline void add_share_variants(std::vector<Variant>& variants) {
  variants.push_back(
      {"rcap_power", "rcap", [](PrunerOptions& o) { o.rcap.class_share = ClassShare::Power; }});
  variants.push_back({"rcap_progressive", "rcap",
                      [](PrunerOptions& o) { o.rcap.class_share = ClassShare::Progressive; }});
  variants.push_back({"rcap_effective_number", "rcap",
                      [](PrunerOptions& o) { o.rcap.class_share = ClassShare::EffectiveNumber; }});
  variants.push_back({"rcap_deferred", "rcap",
                      [](PrunerOptions& o) { o.rcap.class_share = ClassShare::Deferred; }});
  variants.push_back({"rcap_group_dro", "rcap", [](PrunerOptions& o) {
                        o.rcap.class_share = ClassShare::GroupDro;
                        o.rcap.min_per_class = 0;
                      }});
  variants.push_back(
      {"rcap_domain", "rcap", [](PrunerOptions& o) { o.rcap.class_share = ClassShare::Domain; }});
  variants.push_back({"rcap_bandit", "rcap", [](PrunerOptions& o) {
                        o.rcap.class_share = ClassShare::Bandit;
                        o.rcap.initial_loss = InitialLoss::Forward;
                      }});
  variants.push_back({"balanced_power", "balanced",
                      [](PrunerOptions& o) { o.balanced.class_share = BalancedShare::Power; }});
  variants.push_back({"balanced_square_root", "balanced", [](PrunerOptions& o) {
                        o.balanced.class_share = BalancedShare::Power;
                        o.balanced.share.loss_power = 0;
                      }});
  variants.push_back({"balanced_progressive", "balanced", [](PrunerOptions& o) {
                        o.balanced.class_share = BalancedShare::Progressive;
                      }});
  variants.push_back({"balanced_effective_number", "balanced", [](PrunerOptions& o) {
                        o.balanced.class_share = BalancedShare::EffectiveNumber;
                      }});
  variants.push_back({"balanced_deferred", "balanced",
                      [](PrunerOptions& o) { o.balanced.class_share = BalancedShare::Deferred; }});
  variants.push_back({"balanced_group_dro", "balanced",
                      [](PrunerOptions& o) { o.balanced.class_share = BalancedShare::GroupDro; }});
  variants.push_back({"balanced_domain", "balanced",
                      [](PrunerOptions& o) { o.balanced.class_share = BalancedShare::Domain; }});
  variants.push_back({"balanced_bandit", "balanced",
                      [](PrunerOptions& o) { o.balanced.class_share = BalancedShare::Bandit; }});
}

/// Every method, some of them several ways. One line adds the next.
inline std::vector<Variant> all_variants() {
  std::vector<Variant> variants;
  for (const MethodInfo& info : methods()) {
    std::string name(info.name);
    std::erase(name, '-');
    variants.push_back({name, std::string(info.name)});
  }
  variants.push_back({"rcap_mass", "rcap", [](PrunerOptions& o) {
                        o.rcap.class_share = ClassShare::Mass;
                        o.rcap.beta = 0.5;
                      }});
  variants.push_back(
      {"rcap_group", "rcap", [](PrunerOptions& o) { o.rcap.class_share = ClassShare::Group; }});
  variants.push_back(
      {"rcap_paper", "rcap", [](PrunerOptions& o) { o.rcap.class_share = ClassShare::Paper; }});
  variants.push_back({"rcap_robust_auto", "rcap", [](PrunerOptions& o) {
                        o.rcap.beta = std::nullopt;
                        o.rcap.min_per_class = 0;
                        o.rcap.robust = {.allowance = 3, .focus = 2, .lift = 4, .unbias = 2};
                      }});
  variants.push_back(
      {"rcap_log_c", "rcap", [](PrunerOptions& o) { o.rcap.initial_loss = InitialLoss::LogC; }});
  variants.push_back({"rcap_first_epoch", "rcap",
                      [](PrunerOptions& o) { o.rcap.initial_loss = InitialLoss::FirstEpoch; }});
  variants.push_back({"rcap_clip_log_c", "rcap", [](PrunerOptions& o) {
                        o.rcap.clip = LossClip::LogC;
                        o.rcap.min_per_class = 0;
                      }});
  variants.push_back({"rcap_numbers", "rcap", [](PrunerOptions& o) {
                        o.rcap.initial_loss = 2.5;
                        o.rcap.clip = 1.5;
                      }});
  variants.push_back({"rcap_no_clip", "rcap", [](PrunerOptions& o) {
                        o.rcap.class_share = ClassShare::Paper;
                        o.rcap.clip = LossClip::None;
                      }});
  variants.push_back(
      {"infobatch_budget", "infobatch", [](PrunerOptions& o) { o.infobatch.batch_size = 64; }});
  variants.push_back({"seta_groups", "seta", [](PrunerOptions& o) {
                        o.seta.budget = false;
                        o.seta.random_pruning = 0.2;
                      }});
  variants.push_back({"seta_short", "seta", [](PrunerOptions& o) {
                        o.seta.epochs = 6;
                        o.seta.groups = 4;
                        o.seta.random_pruning = 0.1;
                      }});
  variants.push_back({"kakurenbo_stale", "kakurenbo", [](PrunerOptions& o) {
                        o.kakurenbo.refresh = false;
                        o.kakurenbo.hidden = 0.5;
                      }});
  variants.push_back(
      {"dropout_srd", "dropout", [](PrunerOptions& o) { o.dropout.rule = DropoutRule::Srd; }});
  variants.push_back({"dropout_smrd_stale", "dropout", [](PrunerOptions& o) {
                        o.dropout.rule = DropoutRule::Smrd;
                        o.dropout.refresh = false;
                      }});
  variants.push_back({"ies_stale", "ies", [](PrunerOptions& o) { o.ies.refresh = false; }});
  variants.push_back({"rs2replace_stratified", "rs2-replace",
                      [](PrunerOptions& o) { o.rs2_replace.stratified = true; }});
  add_share_variants(variants);
  variants.push_back({"el2n_strata", "el2n", [](PrunerOptions& o) {
                        o.el2n = {ScoreChoice::Strata, 0.2, 20};
                      }});
  variants.push_back(
      {"tdds_per_class", "tdds", [](PrunerOptions& o) { o.tdds.choose = ScoreChoice::PerClass; }});
  variants.push_back({"forgetting_per_class", "forgetting",
                      [](PrunerOptions& o) { o.forgetting.choose = ScoreChoice::PerClass; }});
  variants.push_back(
      {"dual_top", "dual", [](PrunerOptions& o) { o.dual.choose = DualChoice::Top; }});
  return variants;
}

inline PrunerOptions options_of(const Variant& variant, const ClassIndex& classes) {
  PrunerOptions options = options_for(classes);
  variant.adjust(options);
  return options;
}

inline std::unique_ptr<Pruner> make_variant(const Variant& variant,
                                            const std::shared_ptr<const ClassIndex>& classes,
                                            int threads = 1, std::uint64_t seed = 27) {
  PrunerOptions options = options_of(variant, *classes);
  options.common.threads = threads;
  options.common.seed = seed;
  return make_pruner(variant.method, classes, options);
}

/// A loss that depends on the sample and on how long training has gone on.
inline float loss_of(SampleId id, std::int64_t epoch) {
  const RandomStream random(125, Purpose::Synthetic, epoch + 1);
  return static_cast<float>(-std::log(random.uniform(id)) * 2 /
                            std::sqrt(2.0 + static_cast<double>(epoch)));
}

inline std::vector<float> losses_of(std::span<const SampleId> ids, std::int64_t epoch) {
  std::vector<float> losses;
  for (const SampleId id : ids) losses.push_back(loss_of(id, epoch));
  return losses;
}

inline void observe_initial_losses(Pruner& pruner) {
  if (!pruner.needs_initial_losses()) return;
  std::vector<SampleId> ids(static_cast<std::size_t>(pruner.classes().sample_count()));
  std::iota(ids.begin(), ids.end(), 0);
  pruner.observe(ids, losses_of(ids, -1));
}

/// Makes the forward pass that a method may want after an epoch.
inline void refresh(Pruner& pruner, const Selection& selection) {
  if (!pruner.refreshes()) return;
  pruner.observe_refreshed(selection.refresh_ids,
                           losses_of(selection.refresh_ids, selection.epoch));
}

/// Selects, observes and refreshes the epochs [first, last); what each of them selected.
inline std::vector<Selection> run_epochs(Pruner& pruner, std::int64_t first, std::int64_t last) {
  std::vector<Selection> selections;
  for (std::int64_t epoch = first; epoch < last; ++epoch) {
    selections.push_back(pruner.select(epoch));
    const auto& ids = selections.back().ids;
    pruner.observe(ids, losses_of(ids, epoch));
    refresh(pruner, selections.back());
  }
  return selections;
}

inline bool operator==(const Selection& a, const Selection& b) {
  return a.epoch == b.epoch && a.ids == b.ids && a.weights == b.weights &&
         a.refresh_ids == b.refresh_ids && a.rate_factor == b.rate_factor;
}

}  // namespace rcap
