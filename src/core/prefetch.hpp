#pragma once

#include <cstddef>
#include <span>

#include "rcap/core/ids.hpp"

namespace rcap {

/// Fetches the numbers of these samples ahead of time, to be written: batches come in random order,
/// and one by one each would be waited for.
inline void prefetch_numbers(std::span<const float> numbers, std::span<const SampleId> ids) {
  for (const SampleId id : ids) {
    __builtin_prefetch(numbers.data() + static_cast<std::size_t>(id), 1, 2);
  }
}

/// Puts the numbers of these samples into their places.
inline void store_numbers(std::span<const SampleId> ids, std::span<const float> values,
                          std::span<float> numbers) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    numbers[static_cast<std::size_t>(ids[i])] = values[i];
  }
}

}  // namespace rcap
