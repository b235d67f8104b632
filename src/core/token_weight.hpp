#pragma once

#include "rcap/core/class_index.hpp"

namespace rcap {

/// How much a sample counts in the sums of its class: its tokens. Multiplying by the 1 of a sample
/// without a length changes no bit of a sum.
class TokenWeight {
 public:
  explicit TokenWeight(const ClassIndex& classes)
      : lengths_(classes.has_lengths() ? classes.lengths().data() : nullptr) {}

  [[nodiscard]] double operator()(SampleId id) const noexcept {
    return lengths_ == nullptr ? 1.0 : static_cast<double>(lengths_[id]);
  }

 private:
  const std::uint32_t* lengths_;
};

}  // namespace rcap
