#include "data/images/scale_levels.hpp"

#include "core/vector_clones.hpp"

namespace rcap {

// Two vector divisions take less time than looking up each number in a table.
RCAP_VECTOR_CLONES
void scale_levels(const std::uint8_t* levels, std::size_t count, const float* __restrict__ mean,
                  const float* __restrict__ deviation, float* __restrict__ numbers) {
  const auto number = [&](std::size_t i, std::size_t k) {
    return (static_cast<float>(levels[i + k]) / 255.0F - mean[k]) / deviation[k];
  };
  std::size_t i = 0;
  for (; i + ScalePeriod <= count; i += ScalePeriod) {
    for (std::size_t k = 0; k < ScalePeriod; ++k) numbers[i + k] = number(i, k);
  }
  for (std::size_t k = 0; i + k < count; ++k) numbers[i + k] = number(i, k);
}

}  // namespace rcap
