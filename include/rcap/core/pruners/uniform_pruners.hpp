#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "rcap/core/pruner.hpp"

namespace rcap {

/// Methods that look at no loss.

struct Rs2Options {
  /// Whether a sample may come again before all others have come. Inside an epoch
  /// there are never duplicates.
  bool replacement = false;
  /// With replacement only: every class keeps its part of the data set.
  bool stratified = false;
};

void list_options(OptionFields& fields, Rs2Options& options);

/// RS2, repeated random sampling: a new random subset each epoch. Without replacement
/// the epochs walk through one random permutation in blocks of `keep_count`; where the
/// last block runs over its end it goes on at its start, then a new permutation begins.
class Rs2Pruner final : public Pruner {
 public:
  Rs2Pruner(std::shared_ptr<const ClassIndex> classes, const CommonOptions& common,
            const Rs2Options& options);

  [[nodiscard]] bool learns() const noexcept override { return false; }

 private:
  void make_selection(std::int64_t epoch, SampleSet& selected, const Workers& workers) override;
  [[nodiscard]] std::vector<std::string> describe_options() const override {
    return rcap::describe_options(options_);
  }

  [[nodiscard]] SampleSet block_of_permutation(std::int64_t epoch, const Workers& workers) const;

  Rs2Options options_;
};

/// Equal counts per class (small classes whole, the rest shared again), uniform inside
/// a class: tells how much of a result is class balance alone.
class BalancedPruner final : public Pruner {
 public:
  BalancedPruner(std::shared_ptr<const ClassIndex> classes, const CommonOptions& common);

  [[nodiscard]] bool learns() const noexcept override { return false; }

 private:
  void make_selection(std::int64_t epoch, SampleSet& selected, const Workers& workers) override;

  std::vector<std::int64_t> counts_;
};

}  // namespace rcap
