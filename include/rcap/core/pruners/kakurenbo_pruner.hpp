#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "rcap/core/export.hpp"
#include "rcap/core/pruner.hpp"

RCAP_API_BEGIN
namespace rcap {

struct KakurenboOptions {
  std::int64_t epochs = 0;  ///< of the whole run; must be given
  double hidden = 0.3;      ///< the largest part of the samples that is hidden (F), 0 <= F < 1
  /// A sample is hidden only if its true class has at least this probability, 0 < P <= 1.
  double confidence = 0.7;
  bool refresh = true;  ///< a forward pass over hidden samples; without it they keep their losses
};

void list_options(OptionFields& fields, KakurenboOptions& options);

/// KAKURENBO: hides the samples of lowest loss that the network is sure of, fewer and fewer as the
/// run goes on, and raises the learning rate for the steps that are saved. Its rule decides how
/// many are left, so the pruning rate has no effect.
class KakurenboPruner final : public Pruner {
 public:
  /// @throws InvalidArgument  on an option out of range; names it
  KakurenboPruner(std::shared_ptr<const ClassIndex> classes, const CommonOptions& common,
                  const KakurenboOptions& options);

  [[nodiscard]] bool follows_rate() const noexcept override { return false; }
  [[nodiscard]] bool refreshes() const noexcept override { return options_.refresh; }

  /// The largest part of the samples that `epoch` may hide: F, then 0.8, 0.6 and 0.4 of it from 30,
  /// 60 and 80 % of the run on.
  [[nodiscard]] double hidden_part(std::int64_t epoch) const noexcept;

 private:
  void make_selection(std::int64_t epoch, SampleSet& selected, const Workers& workers) override;
  void record(std::span<const SampleId> ids, std::span<const float> losses) override;
  void prefetch(std::span<const SampleId> ids) const override;
  /// 1 / (1 - hidden part), from the first epoch that may hide samples on.
  [[nodiscard]] double rate_factor(std::int64_t epoch) const override;
  /// Not known in advance.
  [[nodiscard]] std::optional<std::int64_t> plan_batches(std::int64_t,
                                                         std::int64_t) const override {
    return std::nullopt;
  }
  void list_state(StateFields& fields) override { fields.losses("losses", losses_); }
  [[nodiscard]] std::vector<std::string> describe_options() const override {
    return rcap::describe_options(options_);
  }

  KakurenboOptions options_;
  std::vector<float> losses_;  ///< the largest number if not known yet
};

}  // namespace rcap
RCAP_API_END
