#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "rcap/core/export.hpp"
#include "rcap/core/pruner.hpp"

RCAP_API_BEGIN
namespace rcap {

/// Which samples progressive data dropout trains on.
enum class DropoutRule {
  Dbpd,  ///< those whose true class has a probability below `confidence`
  Srd,   ///< a random subset of ceil(decay^epoch * n)
  Smrd,  ///< a random subset as large as that of `Dbpd`
};

struct DropoutOptions {
  DropoutRule rule = DropoutRule::Dbpd;
  std::int64_t epochs = 0;  ///< of the whole run; must be given
  double confidence = 0.3;  ///< tau, 0 < tau <= 1
  double decay = 0.95;      ///< gamma of `Srd`, 0 < gamma <= 1
  /// A forward pass over dropped samples, for the rules that read losses; without it a sample that
  /// is dropped stays so until the last epoch.
  bool refresh = true;
};

void list_options(OptionFields& fields, DropoutOptions& options);

[[nodiscard]] constexpr bool reads_losses(const DropoutOptions& options) noexcept {
  return options.rule != DropoutRule::Srd;
}

/// Progressive data dropout: fewer and fewer samples, and all of them in the last epoch. Its rule
/// decides how many, so the pruning rate has no effect.
class DropoutPruner final : public Pruner {
 public:
  /// @throws InvalidArgument  on an option out of range; names it
  DropoutPruner(std::shared_ptr<const ClassIndex> classes, const CommonOptions& common,
                const DropoutOptions& options);

  [[nodiscard]] bool follows_rate() const noexcept override { return false; }
  [[nodiscard]] bool refreshes() const noexcept override { return learns() && options_.refresh; }
  [[nodiscard]] bool learns() const noexcept override { return reads_losses(options_); }

 private:
  void make_selection(std::int64_t epoch, SampleSet& selected, const Workers& workers) override;
  void record(std::span<const SampleId> ids, std::span<const float> losses) override;
  void prefetch(std::span<const SampleId> ids) const override;
  /// Known for `Srd` alone.
  [[nodiscard]] std::optional<std::int64_t> plan_batches(std::int64_t epochs,
                                                         std::int64_t batch_size) const override;
  void list_state(StateFields& fields) override { fields.losses("losses", losses_); }
  [[nodiscard]] std::vector<std::string> describe_options() const override {
    return rcap::describe_options(options_);
  }
  [[nodiscard]] std::int64_t scheduled_count(std::int64_t epoch) const;

  DropoutOptions options_;
  std::vector<float> losses_;  ///< the largest number if not known yet; none of `Srd`
};

}  // namespace rcap
RCAP_API_END
