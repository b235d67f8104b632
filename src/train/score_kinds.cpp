#include "train/score_kinds.hpp"

#include <algorithm>
#include <array>

#include "rcap/core/error.hpp"

namespace rcap {
namespace {

constexpr std::array Kinds{
    ScoreKind{.kind = Scores::Margins, .name = "margins"},
    ScoreKind{.kind = Scores::Divergences,
              .name = "divergences",
              .epochs_option = &TrainOptions::score_epochs,
              .has_window = true},
    ScoreKind{.kind = Scores::Recalls, .name = "recalls"},
    ScoreKind{.kind = Scores::ErrorNorms,
              .name = "error_norms",
              .epochs_option = &TrainOptions::el2n_epochs,
              .has_window = true},
    ScoreKind{.kind = Scores::Forgetting, .name = "forgetting"},
    ScoreKind{.kind = Scores::Uncertainties, .name = "uncertainties", .has_window = true},
    ScoreKind{.kind = Scores::Dual,
              .name = "dual",
              .epochs_option = &TrainOptions::dual_epochs,
              .has_window = true},
};

constexpr std::array Options{
    ScoreOption{"score_epochs", &TrainOptions::score_epochs, "T",
                "tdds: epochs its scores are made from"},
    ScoreOption{"el2n_epochs", &TrainOptions::el2n_epochs, "T",
                "el2n: epochs of its scoring run; the last window of them counts"},
    ScoreOption{"dual_epochs", &TrainOptions::dual_epochs, "T",
                "dual: epochs its scores are made from"},
    ScoreOption{"score_window", &TrainOptions::score_window, "J",
                "tdds, el2n, dyn-unc, dual: epochs per window"},
};

}  // namespace

std::span<const ScoreKind> score_kinds() noexcept { return Kinds; }

const ScoreKind& score_kind(Scores kind) {
  const auto* const found = std::ranges::find(Kinds, kind, &ScoreKind::kind);
  if (found == Kinds.end()) throw InternalError("score_kind: there is no such kind of score");
  return *found;
}

std::int64_t scored_epochs(const ScoreKind& kind, const TrainOptions& options) {
  if (kind.epochs_option == nullptr) return options.epochs;
  return std::min(options.*kind.epochs_option, options.epochs);
}

std::span<const ScoreOption> score_options() noexcept { return Options; }

bool reads(const ScoreKind& kind, const ScoreOption& option) noexcept {
  if (option.value == &TrainOptions::score_window) return kind.has_window;
  return option.value == kind.epochs_option;
}

bool reads(const MethodInfo& method, const ScoreOption& option) {
  return method.needs_scores != Scores::None && reads(score_kind(method.needs_scores), option);
}

}  // namespace rcap
