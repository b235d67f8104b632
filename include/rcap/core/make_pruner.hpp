#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "rcap/core/pruner.hpp"
#include "rcap/core/pruners/bandit_pruner.hpp"
#include "rcap/core/pruners/infobatch_pruner.hpp"
#include "rcap/core/pruners/rcap_pruner.hpp"
#include "rcap/core/pruners/uniform_pruners.hpp"
#include "rcap/core/static_selection.hpp"

namespace rcap {

/// The options of every method, each with its default. A method reads the common ones
/// and its own.
struct PrunerOptions {
  CommonOptions common;
  RcapOptions rcap;
  InfoBatchOptions infobatch;
  BanditOptions ucb = BanditOptions::ucb();
  BanditOptions epsilon_greedy = BanditOptions::epsilon_greedy();
  bool rs2_stratified = false;  ///< for `rs2-replace`
  CcsOptions ccs;
  MetriqOptions metriq;
  std::vector<float> scores;    ///< per sample, for `ccs` and `tdds`
  std::vector<double> recalls;  ///< per class, for `metriq`
};

/// One line about a method.
struct MethodInfo {
  std::string_view name;
  std::string_view summary;
  bool is_static;      ///< chooses once, the same subset every epoch
  bool needs_scores;   ///< reads `PrunerOptions::scores`
  bool needs_recalls;  ///< reads `PrunerOptions::recalls`
};

/// All methods, in the order in which they are shown.
[[nodiscard]] std::span<const MethodInfo> methods() noexcept;

/// The method of that name, or nullptr.
[[nodiscard]] const MethodInfo* find_method(std::string_view name) noexcept;

/// Makes the pruner called `method`.
/// @throws InvalidArgument  an unknown name (lists the known ones), an option out of
///                          range, missing scores or recalls
[[nodiscard]] std::unique_ptr<Pruner> make_pruner(std::string_view method,
                                                  std::shared_ptr<const ClassIndex> classes,
                                                  const PrunerOptions& options);

}  // namespace rcap
