#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "rcap/core/export.hpp"
#include "rcap/core/pruner.hpp"

RCAP_API_BEGIN
namespace rcap {

/// Methods that do not use losses.

struct Rs2Options {
  /// Whether a sample may be selected again before all others have been. Within an epoch
  /// there are never duplicates.
  bool replacement = false;
  /// With replacement only: every class keeps its part of the data set.
  bool stratified = false;
};

void list_options(OptionFields& fields, Rs2Options& options);

/// RS2, repeated random sampling: a new random subset each epoch. Without replacement
/// the epochs go through one random permutation in blocks of `keep_tokens`. A last block that
/// runs over the end continues at the start; then a new permutation begins.
class Rs2Pruner final : public Pruner {
 public:
  Rs2Pruner(std::shared_ptr<const ClassIndex> classes, const CommonOptions& common,
            const Rs2Options& options);

  [[nodiscard]] bool learns() const noexcept override { return false; }

 private:
  void make_selection(std::int64_t epoch, SampleSet& selected, const Workers& workers) override;
  [[nodiscard]] std::vector<double> class_weights(const Selection& selection,
                                                  const Workers& workers) override;
  [[nodiscard]] std::vector<std::string> describe_options() const override {
    return rcap::describe_options(options_);
  }

  [[nodiscard]] SampleSet block_of_permutation(std::int64_t epoch, const Workers& workers) const;

  Rs2Options options_;
  std::vector<std::int64_t> counts_;  ///< of the classes, if it is stratified
};

}  // namespace rcap
RCAP_API_END
