#include "core/batch_checks.hpp"

#include <bit>
#include <limits>
#include <type_traits>

#include "core/vector_clones.hpp"

namespace rcap {
namespace {

/// A number lies between 0 and `most` if neither it nor its distance to `most` is negative: the
/// sign bits of a whole batch are gathered by "or", without a branch.
template <class Integer, class Real>
inline Integer signs_of(std::span<const Real> values, Integer most) {
  Integer signs = 0;
  for (const Real value : values) {
    const auto bits = std::bit_cast<std::make_unsigned_t<Integer>>(value);
    const auto distance = static_cast<std::make_unsigned_t<Integer>>(most) - bits;
    signs |= static_cast<Integer>(bits | distance);
  }
  return signs;
}

}  // namespace

RCAP_VECTOR_CLONES
bool all_exist(std::span<const SampleId> ids, std::int64_t sample_count) {
  return signs_of(ids, sample_count - 1) >= 0;
}

// Floating-point numbers from 0 up are in the order of their bits.

RCAP_VECTOR_CLONES
bool all_are_losses(std::span<const float> losses) {
  return signs_of(losses, std::bit_cast<std::int32_t>(std::numeric_limits<float>::max())) >= 0;
}

RCAP_VECTOR_CLONES
bool all_are_losses(std::span<const double> losses) {
  return signs_of(losses, std::bit_cast<std::int64_t>(std::numeric_limits<double>::max())) >= 0;
}

}  // namespace rcap
