#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/images/resize_image.hpp"

namespace rcap {

/// Which source positions make up each result position along one direction, and with what weights.
///
/// Every result position has the same number of them, its taps, so that loops over them have one
/// length; some have weight 0.
class ResizeWeights {
 public:
  /// Eight bits of a pixel, 22 of a weight and two for the sum fill a 32-bit number.
  static constexpr int Bits = 22;

  /// For the result positions `begin` to `begin + count - 1` out of `result_size`; `count` > 0.
  void make(int source_size, int result_size, int begin, int count, Interpolation interpolation);

  [[nodiscard]] std::size_t size() const noexcept { return firsts_.size(); }
  [[nodiscard]] int taps() const noexcept { return taps_; }
  /// The first source position of the i-th result position. It grows with i.
  [[nodiscard]] int first(std::size_t i) const noexcept { return firsts_[i]; }
  /// The weights of that position and of those that follow.
  [[nodiscard]] const std::int32_t* of(std::size_t i) const noexcept {
    return values_.data() + i * static_cast<std::size_t>(taps_);
  }
  /// The source positions that are used at all.
  [[nodiscard]] int source_begin() const noexcept { return firsts_.front(); }
  [[nodiscard]] int source_end() const noexcept { return firsts_.back() + taps_; }

 private:
  int taps_ = 0;
  std::vector<int> firsts_;
  std::vector<std::int32_t> values_;
  std::vector<double> parts_;
};

}  // namespace rcap
