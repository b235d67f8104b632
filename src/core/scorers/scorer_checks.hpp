#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "rcap/core/class_index.hpp"

namespace rcap {

/// Checks of what scorers are given. Messages begin with `where`: "El2nScorer::add".

/// @throws InvalidArgument  an id that is not between 0 and sample_count - 1; names it
void check_sample_ids(const char* where, std::span<const SampleId> ids, std::int64_t sample_count);

/// @throws InvalidArgument  not one value per id
void check_value_count(const char* where, const char* values, std::size_t value_count,
                       std::size_t id_count);

/// One row of `class_count` probabilities for each id, row after row.
/// @throws InvalidArgument  an id out of range, a value below 0, or a row that does not add up to 1
///                          within 1e-3; names the sample
void check_probabilities(const char* where, const ClassIndex& classes,
                         std::span<const SampleId> ids, std::span<const float> probabilities);

/// samples * per_sample as the length of an array of floats.
/// @throws InvalidArgument  no machine could hold it
[[nodiscard]] std::size_t array_length(const char* scorer, std::int64_t samples,
                                       std::int64_t per_sample);

}  // namespace rcap
