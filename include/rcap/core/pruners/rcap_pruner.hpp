#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "rcap/core/loss_memory.hpp"
#include "rcap/core/pruner.hpp"
#include "rcap/core/weighted_draw.hpp"

namespace rcap {

/// How RCAP splits its budget over the classes; `docs/algorithm.md` sets the three
/// side by side. p_j is the class's part of the data set, S_j its samples selected
/// last (before the first epoch: all of them), phi the remembered losses.
enum class ClassShare {
  Paper,  ///< sqrt(p_j * sum of phi over S_j): the printed formula
  Mass,   ///< sqrt(p_j * softmax mass of S_j): the rule of the authors' code
  Group,  ///< sqrt(sum of phi over S_j): the formula with every class weighing the same
};

/// Where the remembered losses come from before anything is trained.
enum class InitialLoss {
  Forward,  ///< a pass over all samples, observed before the first `select`
  LogC,     ///< ln(number of classes) for every sample: no pass
};

/// Where remembered losses are clipped.
enum class LossClip {
  ClassMax,  ///< at the largest initial loss of the sample's class
  LogC,      ///< at ln(number of classes)
};

struct RcapOptions {
  double beta = 1.0;  ///< temperature of the draw inside a class, 0.001 to 1000
  ClassShare class_share = ClassShare::Paper;
  InitialLoss initial_loss = InitialLoss::Forward;
  LossClip clip = LossClip::ClassMax;
  std::int64_t min_per_class = 1;  ///< kept of each class while the budget allows
};

void list_options(OptionFields& fields, RcapOptions& options);

/// RCAP: a closed form splits the budget over the classes by their losses, then
/// samples are drawn inside each class from softmax(phi / beta) without replacement.
class RcapPruner final : public Pruner {
 public:
  /// @throws InvalidArgument  on an option out of range; names it
  RcapPruner(std::shared_ptr<const ClassIndex> classes, const CommonOptions& common,
             const RcapOptions& options);

  [[nodiscard]] bool needs_initial_losses() const noexcept override {
    return options_.initial_loss == InitialLoss::Forward;
  }

  /// The class error of the paper (E_j), by the rule of `class_share`. A class of which
  /// nothing was selected is judged by its remembered losses: as if it had kept its
  /// proportional share, at least one sample, at the mean loss of the class.
  [[nodiscard]] std::vector<double> class_errors(const Workers& workers = 1) const;
  /// How many samples of each class the next epoch takes.
  [[nodiscard]] std::vector<std::int64_t> class_counts() const;
  [[nodiscard]] const LossMemory& memory() const noexcept { return memory_; }

 private:
  void make_selection(std::int64_t epoch, SampleSet& selected, const Workers& workers) override;
  void record(std::span<const SampleId> ids, std::span<const float> losses) override;
  void prefetch(std::span<const SampleId> ids) const override { memory_.prefetch(ids); }
  void list_state(StateFields& fields) override { memory_.list_state(fields); }
  [[nodiscard]] std::vector<std::string> describe_options() const override {
    return rcap::describe_options(options_);
  }

  [[nodiscard]] std::vector<double> errors_over(const SampleSet& samples,
                                                const Workers& workers) const;
  void judge_starved_classes(std::vector<double>& errors, const Workers& workers) const;
  [[nodiscard]] std::vector<std::int64_t> counts_for(std::span<const double> errors) const;

  RcapOptions options_;
  LossMemory memory_;
  DrawScratch scratch_;
};

}  // namespace rcap
