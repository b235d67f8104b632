#pragma once

#include <cstdint>
#include <span>

#include "rcap/core/make_pruner.hpp"
#include "train/options.hpp"

namespace rcap {

/// How a scoring run makes one kind of score: its row in `score_kinds.cpp`. What listens to the
/// training for it is in `scoring.cpp`.
struct ScoreKind {
  Scores kind;
  const char* name;  ///< of its tensor in a score file, and in JSON
  /// The option that says from how many of the first epochs it is made; null: from all.
  std::int64_t TrainOptions::*epochs_option = nullptr;
  bool has_window = false;  ///< it reads `score_window`
};

/// All kinds but `Scores::None`.
[[nodiscard]] std::span<const ScoreKind> score_kinds() noexcept;

/// @param kind  not `Scores::None`
[[nodiscard]] const ScoreKind& score_kind(Scores kind);

/// From how many epochs of a run it is made.
[[nodiscard]] std::int64_t scored_epochs(const ScoreKind& kind, const TrainOptions& options);

/// An option that only scoring reads.
struct ScoreOption {
  const char* name;
  std::int64_t TrainOptions::*value;
  const char* value_name;
  const char* meaning;
};

[[nodiscard]] std::span<const ScoreOption> score_options() noexcept;

/// Whether the scores of such a kind depend on the option.
[[nodiscard]] bool reads(const ScoreKind& kind, const ScoreOption& option) noexcept;
/// The same of what a method chooses by; false if it chooses by no scores.
[[nodiscard]] bool reads(const MethodInfo& method, const ScoreOption& option);

}  // namespace rcap
