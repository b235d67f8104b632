#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rcap/core/export.hpp"
#include "rcap/core/ids.hpp"
#include "rcap/core/state_file.hpp"

RCAP_API_BEGIN
namespace rcap {

/// What a pruner is told as the losses of samples: each sample's own, or the mean of the batch it
/// was in. In the second case it keeps, for each sample, the moving average of these means, in
/// which hard samples stand out after some epochs, since every epoch puts them beside others.
///
/// A run has one kind for all its epochs. Four bytes per sample once means of batches come, nothing
/// before.
class BatchMeans {
 public:
  /// The weight of the past in a moving average, unless another is chosen.
  static constexpr double UsualDecay = 0.9;

  explicit BatchMeans(std::int64_t sample_count) : sample_count_(sample_count) {}

  [[nodiscard]] bool is_on() const noexcept { return kind_ == OfBatches; }

  /// From now on losses are means of batches.
  /// @param decay  0 <= decay < 1
  /// @throws InvalidArgument  `decay` is out of range, or losses came before
  void turn_on(double decay);

  /// The losses that the method is to remember: as they are, or the moving averages that they lead
  /// to. A sample's first batch counts in full.
  /// @return valid until the next call
  [[nodiscard]] std::span<const float> remembered(std::span<const SampleId> ids,
                                                  std::span<const float> losses);

  /// To be called by a reader inside something that restores the whole object if it fails: how many
  /// numbers there are depends on what is read.
  void list_state(StateFields& fields);

 private:
  // Of `kind_`, a number in state files.
  static constexpr std::int64_t Unknown = 0;  ///< before the first loss
  static constexpr std::int64_t OfSamples = 1;
  static constexpr std::int64_t OfBatches = 2;

  std::int64_t sample_count_;
  std::int64_t kind_ = Unknown;
  std::vector<float> decay_;     ///< one number if it is on, none otherwise
  std::vector<float> averages_;  ///< one per sample if it is on, none otherwise
  std::vector<float> latest_;    ///< what `remembered` returns
};

}  // namespace rcap
RCAP_API_END
