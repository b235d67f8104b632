#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rcap/core/export.hpp"
#include "rcap/core/pruner.hpp"

RCAP_API_BEGIN
namespace rcap {

/// The same subset every epoch: what `full`, `random` and all methods that choose by scores are
/// once their samples are chosen (`static_selection.hpp`).
class StaticPruner final : public Pruner {
 public:
  /// @param chosen  the subset; states are tied to it, so that a run cannot be resumed
  ///                with scores or options that choose another
  StaticPruner(std::string method, std::shared_ptr<const ClassIndex> classes,
               const CommonOptions& common, SampleSet chosen);

  [[nodiscard]] bool learns() const noexcept override { return false; }

 private:
  void make_selection(std::int64_t epoch, SampleSet& selected, const Workers& workers) override;
  [[nodiscard]] std::vector<double> class_weights(const Selection& selection,
                                                  const Workers& workers) override;
  [[nodiscard]] std::vector<std::string> describe_options() const override;

  SampleSet chosen_;
  std::vector<double> class_weights_;  ///< of every selection; empty before the first
};

}  // namespace rcap
RCAP_API_END
