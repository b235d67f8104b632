#include "core/batch_checks.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <type_traits>

#include "base/formatted.hpp"
#include "core/vector_clones.hpp"
#include "rcap/core/error.hpp"

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

/// "the loss of sample 7 is nan", and so on for the first few that are no losses.
template <class Real>
std::string describe_bad(std::span<const SampleId> ids, std::span<const Real> losses) {
  constexpr std::size_t MostNamed = 8;
  std::string text;
  std::size_t count = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (is_loss(losses[i]) || ++count > MostNamed) continue;
    text +=
        formatted("{} of sample {} is {}", count == 1 ? "the loss" : ", that", ids[i], losses[i]);
  }
  return count > MostNamed ? formatted("{}, and {} more", text, count - MostNamed) : text;
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

void check_sizes(const char* where, std::size_t ids, std::size_t losses) {
  if (ids == losses) return;
  throw InvalidArgument(
      formatted("{}: {} losses for {} ids; give one loss per sample, not the mean of a batch",
                where, losses, ids));
}

template <class Real>
bool check_losses(const char* where, std::span<const SampleId> ids, std::span<const Real> losses) {
  if (all_are_losses(losses)) return false;
  if (std::ranges::all_of(losses, is_loss<Real>)) return true;
  throw InvalidArgument(formatted("{}: {}; losses must be finite and >= 0; nothing was recorded",
                                  where, describe_bad(ids, losses)));
}

template bool check_losses(const char*, std::span<const SampleId>, std::span<const float>);
template bool check_losses(const char*, std::span<const SampleId>, std::span<const double>);

}  // namespace rcap
